"use strict";

const { settle } = require("./errors.cjs");
const { parse, stringify } = require("./json.cjs");

/** A thread of an agent framework. Calls take effect in the order in which they are made. */
class ThreadLog {
  #open;
  #queue;

  constructor(key, open, queue) {
    this.key = key;
    this.#open = open;
    this.#queue = queue;
  }

  #run(work) {
    return this.#queue.run(`thread ${this.key}`, async () => settle(work(await settle(this.#open()))));
  }

  /** Appends records in one commit. Values are read before this returns, so they may change afterwards. */
  async append(records, header = {}) {
    const [texts, fields] = [records.map(stringify), stringify(header)];
    await this.#run((native) => native.append(fields, texts));
  }

  /** `append` with records that are JSON text already. */
  async appendTexts(texts, header) {
    await this.#run((native) => native.append(header, texts));
  }

  exists() {
    return this.#run((native) => native.exists());
  }

  async items() {
    return parse(await this.#run((native) => native.items()));
  }

  async checkpoints(namespace) {
    return parse(await this.#run((native) => native.checkpoints(namespace)));
  }

  async checkpoint(namespace = "", id = undefined) {
    const found = await this.#run((native) => native.checkpoint(namespace, id));
    return found == null ? undefined : parse(found);
  }

  missingVersions(namespace, versions) {
    return this.#run((native) => native.missingVersions(namespace, stringify(versions)));
  }

  removeCheckpoints(places) {
    return this.#run((native) => native.removeCheckpoints(places));
  }

  async replaceItems(keep, records) {
    const texts = records.map(stringify);
    return parse(await this.#run((native) => native.replaceItems(keep, texts)));
  }

  async replaceItemTexts(keep, texts) {
    await this.#run((native) => native.replaceItems(keep, texts));
  }

  /** Replaces the last items, if they are the expected ones. False if the operation was applied before. */
  replaceSuffixTexts(header, expected, texts, operation) {
    return this.#run((native) => native.replaceSuffix(header, expected, texts, operation));
  }

  clearItems() {
    return this.#run((native) => native.clearItems());
  }

  async popItem() {
    const item = await this.#run((native) => native.popItem());
    return item == null ? undefined : parse(item);
  }

  copyTo(key) {
    return this.#run((native) => native.copyTo(key));
  }

  async trash() {
    return (await this.#run((native) => native.trash())) ?? undefined;
  }

  release() {
    return this.#run((native) => native.release());
  }
}

module.exports = { ThreadLog };
