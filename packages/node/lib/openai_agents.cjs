"use strict";

const { createHash } = require("node:crypto");

const { BadRequest, Conflict } = require("./errors.cjs");
const { stringify } = require("./json.cjs");
const { lazyRoot } = require("./root.cjs");

const HEADER = '{"framework":"openai-agents"}';
/** How often a change of items starts again after another process has changed them. */
const TRIES = 100;
const BYTES = "$bytes";

/** An item as JSON, with bytes as `{"$bytes": base64}`. Nothing that is given is changed. */
function toStored(value) {
  if (value instanceof Uint8Array) return { [BYTES]: Buffer.from(value).toString("base64") };
  if (Array.isArray(value)) return value.map(toStored);
  if (value === null || typeof value !== "object" || typeof value.toJSON === "function") return value;
  if (Object.hasOwn(value, BYTES)) throw new BadRequest(`an item has a member ${BYTES}`, "bad_request");
  return mapMembers(value, toStored);
}

function fromStored(value) {
  if (Array.isArray(value)) return value.map(fromStored);
  if (value === null || typeof value !== "object") return value;
  if (Object.hasOwn(value, BYTES)) return new Uint8Array(Buffer.from(value[BYTES], "base64"));
  return mapMembers(value, fromStored);
}

function mapMembers(value, work) {
  const prototype = Object.getPrototypeOf(value);
  // What is neither a plain object nor bytes is refused when it is written.
  if (prototype !== Object.prototype && prototype !== null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, work(part)]));
}

function itemText(item) {
  if (item === null || typeof item !== "object" || Array.isArray(item)) {
    throw new BadRequest("an item must be an object", "bad_request");
  }
  return stringify(toStored(item));
}

function recordFor(text) {
  return `{"type":"item","item":${text}}`;
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

/** A digest of the lists of a transaction that does not depend on the order of members. */
function digestOf(kind, lists) {
  const plain = lists.map((texts) => texts.map((text) => sorted(JSON.parse(text))));
  return createHash("sha256").update(JSON.stringify([kind, ...plain])).digest("hex");
}

/** The lists of a transaction as texts, and its digest. */
function readTransaction(transaction) {
  if (transaction?.type === "append_items" && Array.isArray(transaction.items)) {
    const items = transaction.items.map(itemText);
    return { expected: [], items, digest: digestOf("append_items", [items]) };
  }
  const { type, expectedSuffix, replacement } = transaction ?? {};
  if (type === "replace_suffix" && Array.isArray(expectedSuffix) && Array.isArray(replacement)) {
    const [expected, items] = [expectedSuffix.map(itemText), replacement.map(itemText)];
    return { expected, items, digest: digestOf("replace_suffix", [expected, items]) };
  }
  throw new BadRequest("the transaction is neither append_items nor replace_suffix", "bad_request");
}

/** The items after the replacements of function calls; of several calls with the same ID the first is replaced. */
function applyMutations(items, mutations) {
  let changed = items;
  for (const { type, callId, replacement } of mutations) {
    if (type !== "replace_function_call") throw new BadRequest(`the mutation ${type} is unknown`, "bad_request");
    let isReplaced = false;
    changed = changed.flatMap((item) => {
      if (item.type !== "function_call" || item.callId !== callId) return [item];
      const kept = isReplaced ? [] : [structuredClone(replacement)];
      isReplaced = true;
      return kept;
    });
  }
  return changed;
}

/** Stores the items of a conversation in `threads/<id>/thread.jsonl` of a root. */
class EverturnSession {
  #root;
  #sessionId;
  #thread;
  #isClosed = false;

  constructor(sessionId, root) {
    this.#sessionId = sessionId;
    this.#root = lazyRoot(root);
  }

  async #open() {
    if (this.#isClosed) throw new BadRequest(`the session ${JSON.stringify(this.#sessionId)} is closed`, "closed");
    this.#thread ??= (await this.#root()).thread(this.#sessionId);
    return this.#thread;
  }

  async getSessionId() {
    return this.#sessionId;
  }

  async getItems(limit) {
    const records = await (await this.#open()).items();
    const items = records.filter((record) => Object.hasOwn(record, "item")).map((record) => fromStored(record.item));
    if (limit === undefined) return items;
    return limit <= 0 ? [] : items.slice(-limit);
  }

  async addItems(items) {
    const texts = items.map(itemText);
    const thread = await this.#open();
    if (texts.length > 0) await thread.appendTexts(texts.map(recordFor), HEADER);
  }

  async popItem() {
    const record = await (await this.#open()).popItem();
    return record && fromStored(record.item);
  }

  async clearSession() {
    await (await this.#open()).clearItems();
  }

  async replaceHistoryWithCompaction(items) {
    const texts = items.map(itemText);
    await (await this.#open()).replaceItemTexts(0, texts.map(recordFor));
  }

  async applyHistoryMutations({ mutations }) {
    for (let attempt = 1; mutations.length > 0; attempt += 1) {
      const before = await this.getItems();
      const after = applyMutations(before, mutations).map(itemText);
      const old = before.map(itemText);
      const same = old.findIndex((text, at) => text !== after[at]);
      const keep = same === -1 ? old.length : same;
      if (keep === old.length && after.length === old.length) return;
      try {
        const thread = await this.#open();
        await thread.replaceSuffixTexts(HEADER, old.slice(keep), after.slice(keep).map(recordFor));
        return;
      } catch (error) {
        if (!(error instanceof Conflict) || attempt >= TRIES) throw error;
      }
    }
  }

  async applyHistoryTransaction({ operationId, transaction }) {
    if (typeof operationId !== "string" || operationId.trim() === "") {
      throw new BadRequest("operationId must be a text that is not empty", "bad_request");
    }
    const { expected, items, digest } = readTransaction(transaction);
    const thread = await this.#open();
    await thread.replaceSuffixTexts(HEADER, expected, items.map(recordFor), [operationId, digest]);
  }

  /** Releases the lock, so that another process can write at once. It is also released when it is idle. */
  async close() {
    if (this.#isClosed) return;
    const thread = this.#thread;
    this.#isClosed = true;
    await thread?.release();
  }
}

module.exports = { EverturnSession };
