"use strict";

// Values of LangGraph as JSON that people can read, and back without loss. The Python package stores them in the same way.
//
// Texts, numbers, booleans, null, lists and plain objects are stored as they are. Messages of LangChain are objects with a
// `type`, a `content` and their other fields. Everything else is passed to the serializer of the saver and stored as
// `{"$type": ..., "$data": ...}`, with the bytes in base64.

const { Damaged } = require("./errors.cjs");

const CLASS = "$message";
const MAX_DEPTH = 200;

const SHARED = ["content", "additional_kwargs", "response_metadata", "name", "id"];
/** The fields of each class that are stored. Only these classes are created when a log is read. */
const FIELDS = {
  AIMessage: [...SHARED, "tool_calls", "invalid_tool_calls", "usage_metadata"],
  HumanMessage: SHARED,
  SystemMessage: SHARED,
  ToolMessage: [...SHARED, "tool_call_id", "artifact", "status", "metadata"],
  ChatMessage: [...SHARED, "role"],
  FunctionMessage: SHARED,
};
/** The members of messages that are not stored: they follow from the class and the fields. */
const DERIVED = new Set(["type", "lc_kwargs", "lc_namespace", "lc_serializable", "lc_runnable"]);

/** The value has a part that JSON cannot hold. */
const OPAQUE = Symbol("opaque");

function isPlainObject(value) {
  const prototype = Object.getPrototypeOf(value);
  const isPlain = prototype === Object.prototype || prototype === null;
  return isPlain && typeof value.toJSON !== "function" && !Object.keys(value).some((key) => key.startsWith("$"));
}

class ValueCodec {
  /** `messages` is the module `@langchain/core/messages`. */
  constructor(messages, serde, isReadable) {
    this.messages = messages;
    this.serde = serde;
    this.isReadable = isReadable;
    this.classes = new Map(Object.keys(FIELDS).map((name) => [messages[name], name]));
  }

  /** The value as JSON if it has only plain parts, otherwise `OPAQUE`. */
  plain(value, depth = 0) {
    switch (typeof value) {
      case "string":
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0) ? value : OPAQUE;
      case "object":
        break;
      default:
        return OPAQUE;
    }
    if (value === null) return value;
    if (depth > MAX_DEPTH) return OPAQUE;
    if (Array.isArray(value)) {
      const list = new Array(value.length);
      for (let at = 0; at < value.length; at += 1) {
        if ((list[at] = this.plain(value[at], depth + 1)) === OPAQUE) return OPAQUE;
      }
      return list;
    }
    const name = this.classes.get(value.constructor);
    if (name !== undefined) return this.message(value, name, depth);
    if (!isPlainObject(value)) return OPAQUE;
    const fields = {};
    for (const key of Object.keys(value)) {
      // Assigned to `__proto__`, a value would not become a member.
      if (key === "__proto__" || (fields[key] = this.plain(value[key], depth + 1)) === OPAQUE) return OPAQUE;
    }
    return fields;
  }

  message(value, name, depth) {
    const stored = { type: value.type, [CLASS]: name };
    const known = FIELDS[name];
    for (const key of Object.keys(value)) {
      if (value[key] === undefined || DERIVED.has(key)) continue;
      if (!known.includes(key)) return OPAQUE;
      if ((stored[key] = this.plain(value[key], depth + 1)) === OPAQUE) return OPAQUE;
    }
    return stored;
  }

  /** The JSON of a value. The elements of a list are encoded one by one, so that a log stores only new ones. */
  async encode(value) {
    if (this.isReadable) {
      const plain = this.plain(value);
      if (plain !== OPAQUE) return plain;
      if (Array.isArray(value)) return Promise.all(Array.from(value, (element) => this.encode(element)));
      if (typeof value === "object" && isPlainObject(value)) return this.encodeMembers(value);
    }
    const [type, data] = await this.serde.dumpsTyped(value);
    return { $type: type, $data: Buffer.from(data).toString("base64") };
  }

  /** An object with the JSON of each member. */
  async encodeMembers(members) {
    const entries = Object.entries(members).map(async ([key, part]) => [key, await this.encode(part)]);
    return Object.fromEntries(await Promise.all(entries));
  }

  /** The value of its JSON. */
  async decode(value) {
    if (value === null || typeof value !== "object") return value;
    if (Array.isArray(value)) return Promise.all(value.map((element) => this.decode(element)));
    if (Object.hasOwn(value, "$type")) {
      return this.serde.loadsTyped(value.$type, new Uint8Array(Buffer.from(value.$data, "base64")));
    }
    const fields = {};
    for (const key of Object.keys(value)) fields[key] = await this.decode(value[key]);
    return Object.hasOwn(fields, CLASS) ? this.fromFields(fields) : fields;
  }

  fromFields({ [CLASS]: name, type: _, ...stored }) {
    if (!Object.hasOwn(FIELDS, name)) throw new Damaged(`a message of the unknown class ${JSON.stringify(name)}`, "damaged");
    // Python stores fields without a value as null.
    const set = Object.entries(stored).filter(([, value]) => value !== null);
    return new this.messages[name](Object.fromEntries(set));
  }
}

module.exports = { ValueCodec };
