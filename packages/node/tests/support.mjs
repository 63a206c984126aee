// What the tests share.

import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const places = [];
process.on("exit", () => places.forEach((place) => fs.rmSync(place, { recursive: true, force: true })));

/** A new directory. It is removed when the process ends. */
export function directory() {
  places.push(fs.mkdtempSync(path.join(os.tmpdir(), "everturn-node-")));
  return places.at(-1);
}

export async function collect(entries) {
  const all = [];
  for await (const entry of entries) all.push(entry);
  return all;
}

export function range(first, end) {
  return Array.from({ length: Math.max(end - first, 0) }, (_, at) => first + at);
}

/** Runs a module in a process of its own, and waits for its end. */
export function runModule(code, ...words) {
  const options = ["--input-type=module", "-e", code, ...words];
  return ended(spawn(process.execPath, options, { stdio: ["ignore", "pipe", "inherit"] }));
}

/** Waits for a process, and returns what it has printed. Fails if it fails. */
export function ended(child) {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout.on("data", (more) => (text += more));
    child.on("error", reject);
    child.on("close", (code, signal) => (code === 0 ? resolve(text) : reject(new Error(`ended with ${code ?? signal}`))));
  });
}

/** A program that writes until it is killed, and the lines that it has printed as a whole. */
export class Writer {
  constructor(words) {
    this.text = "";
    this.child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] });
    this.child.stdout.setEncoding("utf8");
    this.closed = new Promise((resolve) => this.child.on("close", (code, signal) => resolve(signal ?? code)));
    this.changed = () => {};
    this.child.stdout.on("data", (more) => {
      this.text += more;
      this.changed();
    });
  }

  get lines() {
    return this.text.split("\n").slice(0, -1);
  }

  /** Kills it after some acknowledgements, in the middle of the next ones. */
  async killAfter(acknowledged, pause = 0) {
    let isClosed = false;
    void this.closed.then(() => {
      isClosed = true;
      this.changed();
    });
    while (this.lines.length < acknowledged) {
      if (isClosed) throw new Error(`it ended by itself: ${this.text}`);
      await new Promise((resolve) => (this.changed = resolve));
    }
    if (pause > 0) await new Promise((resolve) => setTimeout(resolve, pause));
    this.child.kill("SIGKILL");
    if ((await this.closed) !== "SIGKILL") throw new Error("it was not killed");
    return this.lines;
  }
}

/** Numbers that are the same in every run. */
export function randomFrom(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
