"use strict";

const { isDeepStrictEqual } = require("node:util");

const { ValueCodec } = require("./langgraph_values.cjs");
const { Queue } = require("./queue.cjs");
const { lazyRoot } = require("./root.cjs");

const HEADER = '{"framework":"langgraph"}';
/** The members of a checkpoint that have a place of their own in the record. */
const OWN = new Set(["id", "ts", "channel_values", "channel_versions"]);

function configFor(threadId, ns, id) {
  return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id } };
}

function required(config, field) {
  const value = config.configurable?.[field];
  if (value === undefined || value === null) throw new Error(`the config needs a "${field}" in "configurable"`);
  return String(value);
}

function compare(left, right) {
  return left < right ? -1 : Number(left > right);
}

/** The class, over the copies of LangGraph and LangChain that the program has loaded. */
function makeSaver(checkpointModule, messages) {
  const { BaseCheckpointSaver, TASKS, WRITES_IDX_MAP, getCheckpointId, maxChannelVersion } = checkpointModule;

  class EverturnSaver extends BaseCheckpointSaver {
    #root;
    #codec;
    #queue = new Queue();

    constructor(root, { serde } = {}) {
      super(serde);
      this.#root = lazyRoot(root);
      this.#codec = new ValueCodec(messages, this.serde, serde === undefined);
    }

    /** A version that is greater than `current`, and unlike that of any other branch. */
    getNextVersion(current) {
      const number = typeof current === "string" ? Number.parseInt(current, 10) : Number(current ?? 0);
      const random = Math.floor(Math.random() * 2 ** 48);
      return `${String(number + 1).padStart(8, "0")}.${random.toString(16).padStart(12, "0")}`;
    }

    async put(config, checkpoint, metadata, newVersions) {
      const threadId = required(config, "thread_id");
      const ns = String(config.configurable.checkpoint_ns ?? "");
      const record = this.#checkpointRecord(ns, getCheckpointId(config), checkpoint, metadata, newVersions);
      await this.#append(threadId, record);
      return configFor(threadId, ns, checkpoint.id);
    }

    async putWrites(config, writes, taskId) {
      const threadId = required(config, "thread_id");
      const checkpointId = required(config, "checkpoint_id");
      const ns = String(config.configurable.checkpoint_ns ?? "");
      await this.#append(threadId, this.#writesRecord(ns, checkpointId, writes, taskId));
    }

    /** Appends a record that is being made. LangGraph does not wait for one call before the next, so each has its turn. */
    #append(threadId, record) {
      const texts = record.then((made) => [JSON.stringify(made)]);
      texts.catch(() => {});
      return this.#queue.run(threadId, async () => {
        await (await this.#root()).thread(threadId).appendTexts(await texts, HEADER);
      });
    }

    /** The record of a checkpoint. All values are read before the first `await`. */
    async #checkpointRecord(ns, parent, checkpoint, metadata, newVersions) {
      const versions = { ...checkpoint.channel_versions };
      const [values, loose] = [[], []];
      for (const entry of Object.entries(checkpoint.channel_values)) {
        (Object.hasOwn(versions, entry[0]) ? values : loose).push(entry);
      }
      // LangGraph names the channels that are new; those that it does not name are found by their version.
      const isNew = ([name]) => newVersions === undefined || Object.hasOwn(newVersions, name);
      const rest = Object.fromEntries(Object.entries(checkpoint).filter(([name]) => !OWN.has(name)));
      const encoded = [Object.fromEntries(values.filter(isNew)), rest, metadata, Object.fromEntries(loose)];
      const [newValues, others, described, unversioned] = await Promise.all([
        this.#codec.encodeMembers(encoded[0]),
        ...encoded.slice(1).map((value) => this.#codec.encode(value)),
      ]);
      return {
        type: "checkpoint",
        id: checkpoint.id,
        time: checkpoint.ts,
        ns: ns || undefined,
        parent: parent || undefined,
        versions,
        values: newValues,
        checkpoint: others,
        metadata: described,
        // A value without a version cannot be shared with other checkpoints.
        loose: loose.length > 0 ? unversioned : undefined,
      };
    }

    async #writesRecord(ns, checkpointId, writes, taskId) {
      const values = await Promise.all(writes.map(([, value]) => this.#codec.encode(value)));
      return {
        type: "writes",
        checkpoint: checkpointId,
        task: taskId,
        path: "",
        writes: writes.map(([channel], number) => [WRITES_IDX_MAP[channel] ?? number, channel, values[number]]),
        ns: ns || undefined,
      };
    }

    async #tuple(thread, found) {
      const { record } = found;
      const ns = record.ns ?? "";
      const decode = (value) => this.#codec.decode(value);
      const values = { ...(await decode(found.values)), ...(await decode(record.loose ?? {})) };
      const checkpoint = {
        ...(await decode(record.checkpoint ?? {})),
        id: record.id,
        ts: record.time,
        channel_values: values,
        channel_versions: record.versions ?? {},
      };
      const tuple = {
        config: configFor(thread.key, ns, record.id),
        checkpoint,
        metadata: await decode(record.metadata ?? {}),
        pendingWrites: await this.#pending(found.writes),
      };
      if (record.parent) {
        tuple.parentConfig = configFor(thread.key, ns, record.parent);
        if (checkpoint.v < 4) await this.#migrateSends(thread, ns, record.parent, checkpoint);
      }
      return tuple;
    }

    /** Before version 4, tasks that were sent were writes of the parent. */
    async #migrateSends(thread, ns, parent, checkpoint) {
      const found = await thread.checkpoint(ns, parent);
      const writes = await this.#pending(found?.writes ?? []);
      const versions = Object.values(checkpoint.channel_versions);
      checkpoint.channel_values[TASKS] = writes.filter(([, channel]) => channel === TASKS).map(([, , value]) => value);
      checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
    }

    async #pending(records) {
      const stored = new Map();
      for (const { task, path = "", writes } of records) {
        for (const [number, channel, value] of writes) {
          const place = JSON.stringify([task, number]);
          // A write that is sent again is ignored, except for errors, interrupts and the like.
          if (number < 0 || !stored.has(place)) stored.set(place, { path, task, number, channel, value });
        }
      }
      const order = [...stored.values()].sort(
        (a, b) => compare(a.path, b.path) || compare(a.task, b.task) || a.number - b.number,
      );
      return Promise.all(order.map(async ({ task, channel, value }) => [task, channel, await this.#codec.decode(value)]));
    }

    async getTuple(config) {
      const threadId = config.configurable?.thread_id;
      if (threadId === undefined) return undefined;
      const ns = String(config.configurable.checkpoint_ns ?? "");
      // After the writes that were started before.
      return this.#queue.run(String(threadId), async () => {
        const thread = (await this.#root()).thread(String(threadId));
        const found = await thread.checkpoint(ns, getCheckpointId(config) || undefined);
        return found && this.#tuple(thread, found);
      });
    }

    async *list(config, { limit, before, filter } = {}) {
      const root = await this.#root();
      const given = config?.configurable ?? {};
      const threadIds = given.thread_id === undefined ? await root.threadKeys() : [String(given.thread_id)];
      const wanted = config ? getCheckpointId(config) : "";
      const end = before ? getCheckpointId(before) : "";
      let count = 0;
      for (const threadId of threadIds) {
        const thread = root.thread(threadId);
        const records = await thread.checkpoints(given.checkpoint_ns);
        records.sort((a, b) => compare(b.id, a.id));
        for (const record of records) {
          if (limit !== undefined && count >= limit) return;
          if ((wanted && record.id !== wanted) || (end && record.id >= end)) continue;
          if (filter && !(await this.#matches(record, filter))) continue;
          const found = await thread.checkpoint(record.ns ?? "", record.id);
          if (found === undefined) continue;
          count += 1;
          yield await this.#tuple(thread, found);
        }
      }
    }

    async #matches(record, filter) {
      const metadata = await this.#codec.decode(record.metadata ?? {});
      return Object.entries(filter).every(([name, value]) => isDeepStrictEqual(metadata[name], value));
    }

    async deleteThread(threadId) {
      await this.#queue.run(String(threadId), async () => (await this.#root()).thread(String(threadId)).trash());
    }
  }

  return EverturnSaver;
}

module.exports = { makeSaver };
