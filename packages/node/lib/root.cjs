"use strict";

const { fileURLToPath } = require("node:url");

const { settle } = require("./errors.cjs");
const { Files } = require("./files.cjs");
const { parse } = require("./json.cjs");
const { load } = require("./native.cjs");
const { Queue } = require("./queue.cjs");
const { NATIVE, sessionFor } = require("./session.cjs");
const { ThreadLog } = require("./thread_log.cjs");

class Root {
  #native;
  #queue = new Queue();
  /** One object for each directory, so that the lock of one call serves the next. */
  #files = new Map();

  /** Use `Root.open`. */
  constructor(native) {
    this.#native = native;
  }

  static async open(path, { mode = "create", wait = 5 } = {}) {
    const name = path instanceof URL ? fileURLToPath(path) : String(path);
    return new Root(await settle(load().openRoot(name, mode, wait)));
  }

  get [NATIVE]() {
    return this.#native;
  }

  get path() {
    return this.#native.path;
  }

  async sessions() {
    return parse(await settle(this.#native.sessions()));
  }

  async search(query, limit = 20) {
    return parse(await settle(this.#native.search(query, limit)));
  }

  async find(name) {
    return sessionFor(await settle(this.#native.openSession(name)));
  }

  trash(name) {
    return settle(this.#native.trash(name));
  }

  restore(name) {
    return settle(this.#native.restore(name));
  }

  thread(key) {
    // The native object is kept by the root; one that is asked for again is the same.
    let native;
    const open = () => (native ??= this.#native.thread(key));
    return new ThreadLog(key, open, this.#queue);
  }

  threadKeys() {
    return settle(this.#native.threadKeys());
  }

  files(dir) {
    let native;
    const open = () => (native ??= this.#native.files(dir));
    if (!this.#files.has(dir)) this.#files.set(dir, new Files(dir, open, this.#queue));
    return this.#files.get(dir);
  }

  async close() {
    await this.#queue.idle();
    await settle(this.#native.close());
  }

  async [Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")]() {
    await this.close();
  }
}

/** A function that returns the root of an adapter, which may be given as a directory. */
function lazyRoot(root) {
  let opened = root instanceof Root ? Promise.resolve(root) : undefined;
  return () => {
    if (opened === undefined) {
      opened = Root.open(root);
      // The next call tries again.
      opened.catch(() => {
        opened = undefined;
      });
    }
    return opened;
  };
}

module.exports = { Root, lazyRoot };
