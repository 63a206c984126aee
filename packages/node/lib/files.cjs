"use strict";

const { settle } = require("./errors.cjs");

/** Atomic commits of plain files below a directory. */
class Files {
  #open;
  #queue;

  constructor(dir, open, queue) {
    this.dir = dir;
    this.#open = open;
    this.#queue = queue;
  }

  #run(work) {
    return this.#queue.run(`files ${this.dir}`, async () => settle(work(await settle(this.#open()))));
  }

  /** The content of a file; undefined if it does not exist. */
  async read(file) {
    return (await this.#run((native) => native.read(file))) ?? undefined;
  }

  /** The names in a directory, with a `/` after those of directories. */
  list(dir) {
    return this.#run((native) => native.list(dir));
  }

  /** Applies all changes or none. Each has a `kind` (`append`, `replace`, `remove`), a `file`, a `text`, an `expected`. */
  commit(changes) {
    return this.#run((native) => native.commit(changes));
  }

  release() {
    return this.#run((native) => native.release());
  }
}

module.exports = { Files };
