"use strict";

const { Conflict, NotFound, settle } = require("./errors.cjs");
const { parse, stringify } = require("./json.cjs");
const { Queue } = require("./queue.cjs");

// Entries are read in pages of this size.
const PAGE = 500;

/** How classes of this package reach the native object of another one. */
const NATIVE = Symbol("native");

/** The members that are set. */
function given(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}

class Session {
  static format = undefined;
  #native;
  #queue = new Queue();

  /** Use `create`, `open` or `openOrCreate`. */
  constructor(native) {
    this.#native = native;
  }

  static async create(root, id = "", { title, ...fields } = {}) {
    const text = stringify(fields);
    return new this(await settle(root[NATIVE].createSession(this.format ?? "", id, title, text)));
  }

  static async open(root, name) {
    return new this(await settle(root[NATIVE].openSession(name, this.format)));
  }

  static async openOrCreate(root, id, fields = {}) {
    try {
      return await this.open(root, id);
    } catch (error) {
      if (!(error instanceof NotFound)) throw error;
    }
    try {
      return await this.create(root, id, fields);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      // Another process was faster.
      return this.open(root, id);
    }
  }

  get id() {
    return this.#native.id;
  }

  get format() {
    return this.#native.format;
  }

  async request(request, fields = {}) {
    const text = stringify(given(fields));
    return parse(await this.#queue.run("", () => settle(this.#native.request(request, text))));
  }

  append(turn, { key, after } = {}) {
    return this.request("append", { data: turn, key, after });
  }

  async *entries(first, last, { raw = false } = {}) {
    const fields = { from: first, to: last, limit: PAGE, raw };
    for (;;) {
      const page = await this.request("entries", fields);
      yield* page.entries;
      if (!page.next) return;
      fields.cursor = page.next;
    }
  }

  [Symbol.asyncIterator]() {
    return this.entries();
  }

  async state(turn, { path } = {}) {
    return (await this.request("state", { turn, path })).state;
  }

  async diff(first, last, { scope } = {}) {
    return (await this.request("diff", { from: first, to: last, scope })).changes;
  }

  undo(turns = 1) {
    return this.request("undo", { turns });
  }

  rewind(turn) {
    return this.request("rewind", { turn });
  }

  fork(id, { turn } = {}) {
    return this.request("fork", { session: id, turn });
  }

  async mark(name, { turn, kind } = {}) {
    return (await this.request("mark_add", { name, turn, kind })).mark;
  }

  async marks() {
    return (await this.request("mark_list")).marks;
  }

  branches() {
    return this.request("branches");
  }

  info() {
    return this.request("info");
  }

  async sync() {
    await this.request("sync");
  }

  async close() {
    await this.#queue.run("", () => settle(this.#native.close()));
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.close();
  }
}

class Game extends Session {
  static format = "game";
}

class Campaign extends Session {
  static format = "campaign";
}

class ChatLog extends Session {
  static format = "chatlog";
}

class Thread extends Session {
  static format = "thread";
}

const CLASSES = { game: Game, campaign: Campaign, chatlog: ChatLog, thread: Thread };

/** The object for a native session of any format. */
function sessionFor(native) {
  const kind = Object.hasOwn(CLASSES, native.format) ? CLASSES[native.format] : Session;
  return new kind(native);
}

module.exports = { Session, Game, Campaign, ChatLog, Thread, NATIVE, sessionFor };
