"use strict";

const { BadRequest, Conflict, Damaged } = require("./errors.cjs");
const { lazyRoot } = require("./root.cjs");
const { Queue } = require("./queue.cjs");
const { parse, stringify } = require("./json.cjs");

const LINES = ".jsonl";
const SIDECAR = "everturn.session.json";
const MAIN = "";
/** How often an append starts again after another process has appended. */
const TRIES = 100;

/** A text as the name of a file. The Python package has the same names. */
function fileName(text) {
  let name;
  try {
    name = encodeURIComponent(text);
  } catch {
    throw new BadRequest(`${JSON.stringify(text)} is not valid text`, "bad_request");
  }
  name = name.replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
  return name.startsWith(".") ? `%2E${name.slice(1)}` : name;
}

/** The paths of a session. */
class Places {
  constructor(key) {
    this.project = `projects/${fileName(key.projectKey)}`;
    this.directory = `${this.project}/${fileName(key.sessionId)}`;
    this.sidecar = `${this.directory}/${SIDECAR}`;
  }

  transcript(subpath) {
    const parts = subpath ? subpath.split("/").map(fileName) : [];
    return [this.directory, ...parts].join("/") + LINES;
  }
}

function readEntries(text, file) {
  const entries = [];
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    try {
      entries.push(parse(line));
    } catch (error) {
      throw new Damaged(`${file}:${at + 1} is not JSON`, "damaged", file, "run everturn check", { cause: error });
    }
  }
  return entries;
}

/**
 * Stores transcripts in `projects/<project>/<session>.jsonl` of a root, and subagents below `<session>/`.
 */
class EverturnSessionStore {
  #root;
  #queue = new Queue();
  /** For each transcript the sidecar with which its UUIDs were read, and the UUIDs. */
  #uuids = new Map();

  constructor(root) {
    this.#root = lazyRoot(root);
  }

  async #files(places) {
    return (await this.#root()).files(places.project);
  }

  async append(key, entries) {
    if (entries.length === 0) return;
    const places = new Places(key);
    const lines = entries.map((entry) => ({ uuid: entry.uuid, entry, line: `${stringify(entry)}\n` }));
    await this.#queue.run(places.directory, () => this.#append(key, places, lines));
  }

  async #append(key, places, lines) {
    const subpath = key.subpath ?? MAIN;
    const file = places.transcript(subpath);
    const files = await this.#files(places);
    for (let attempt = 1; ; attempt += 1) {
      const before = await files.read(places.sidecar);
      const sidecar = before === undefined ? { files: {} } : JSON.parse(before);
      const known = await this.#known(files, file, before);
      const fresh = lines.filter(({ uuid }) => {
        if (uuid === undefined || uuid === null) return true;
        return !known.has(uuid) && known.add(uuid);
      });
      if (fresh.length === 0) return;
      const counts = new Map(Object.entries(sidecar.files));
      counts.set(subpath, (counts.get(subpath) ?? 0) + fresh.length);
      sidecar.files = Object.fromEntries(counts);
      if (subpath === MAIN) await this.#addSummary(files, file, key, sidecar, fresh);
      const after = JSON.stringify(sidecar);
      const changes = [
        { kind: "append", file, text: fresh.map(({ line }) => line).join("") },
        { kind: "replace", file: places.sidecar, expected: before, text: after },
      ];
      try {
        await files.commit(changes);
      } catch (error) {
        if (error instanceof Conflict && attempt < TRIES) continue;
        throw error;
      }
      this.#uuids.set(file, { sidecar: after, known });
      return;
    }
  }

  async #addSummary(files, file, key, sidecar, fresh) {
    const { foldSessionSummary } = await import("@anthropic-ai/claude-agent-sdk");
    const mtime = Math.max(Date.now(), sidecar.mtime ?? 0);
    let previous = sidecar.summary;
    if (previous !== undefined && previous.sessionId === undefined) {
      // The SDK for Python has made it; the data of the two differ.
      const stored = readEntries((await files.read(file)) ?? "", file);
      previous = foldSessionSummary(undefined, key, stored, { mtime });
    }
    const entries = fresh.map(({ entry }) => entry);
    sidecar.mtime = mtime;
    sidecar.summary = { ...foldSessionSummary(previous, key, entries, { mtime }), mtime };
  }

  /** The UUIDs of a transcript. They are read again only if another process has appended. */
  async #known(files, file, sidecar) {
    const cached = this.#uuids.get(file);
    if (cached !== undefined && cached.sidecar === sidecar) return new Set(cached.known);
    const entries = readEntries((await files.read(file)) ?? "", file);
    return new Set(entries.map((entry) => entry.uuid).filter((uuid) => uuid !== undefined));
  }

  load(key) {
    const places = new Places(key);
    return this.#queue.run(places.directory, async () => {
      const file = places.transcript(key.subpath ?? MAIN);
      const text = await (await this.#files(places)).read(file);
      return text === undefined ? null : readEntries(text, file);
    });
  }

  /** The sessions of a project, with their sidecars. */
  async #sidecars(projectKey) {
    const project = `projects/${fileName(projectKey)}`;
    const files = (await this.#root()).files(project);
    const found = [];
    for (const name of await files.list(project)) {
      const text = name.endsWith("/") ? await files.read(`${project}/${name}${SIDECAR}`) : undefined;
      const sidecar = text === undefined ? undefined : JSON.parse(text);
      if (sidecar !== undefined && Object.hasOwn(sidecar.files, MAIN)) {
        found.push({ sessionId: decodeURIComponent(name.slice(0, -1)), sidecar });
      }
    }
    return found;
  }

  async listSessions(projectKey) {
    const found = await this.#sidecars(projectKey);
    return found.map(({ sessionId, sidecar }) => ({ sessionId, mtime: sidecar.mtime }));
  }

  async listSessionSummaries(projectKey) {
    const { foldSessionSummary } = await import("@anthropic-ai/claude-agent-sdk");
    const summaries = (await this.#sidecars(projectKey)).map(async ({ sessionId, sidecar }) => {
      if (sidecar.summary?.sessionId !== undefined) return sidecar.summary;
      const key = { projectKey, sessionId };
      return foldSessionSummary(undefined, key, (await this.load(key)) ?? [], { mtime: sidecar.mtime });
    });
    return Promise.all(summaries);
  }

  async delete(key) {
    const places = new Places(key);
    await this.#queue.run(places.directory, () => this.#delete(places, key.subpath ?? MAIN));
  }

  async #delete(places, subpath) {
    const files = await this.#files(places);
    const changes = [{ kind: "remove", file: places.transcript(subpath) }];
    if (subpath === MAIN) {
      changes.push({ kind: "remove", file: places.directory });
    } else {
      const before = await files.read(places.sidecar);
      if (before !== undefined) {
        const sidecar = JSON.parse(before);
        delete sidecar.files[subpath];
        changes.push({ kind: "replace", file: places.sidecar, expected: before, text: JSON.stringify(sidecar) });
      }
    }
    await files.commit(changes);
    this.#uuids.clear();
  }

  async listSubkeys(key) {
    const places = new Places(key);
    const text = await (await this.#files(places)).read(places.sidecar);
    return text === undefined ? [] : Object.keys(JSON.parse(text).files).filter((name) => name !== MAIN);
  }
}

module.exports = { EverturnSessionStore };
