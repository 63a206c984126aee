"use strict";

/** Runs calls one after another for each key, in the order in which they were made. */
class Queue {
  #last = new Map();

  run(key, work) {
    const before = this.#last.get(key);
    const done = before === undefined ? work() : before.then(work, work);
    this.#last.set(key, done);
    const forget = () => {
      if (this.#last.get(key) === done) this.#last.delete(key);
    };
    done.then(forget, forget);
    return done;
  }

  /** Waits until all calls so far have ended. */
  async idle() {
    await Promise.allSettled(this.#last.values());
  }
}

module.exports = { Queue };
