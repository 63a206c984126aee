// Programs that are killed with SIGKILL at random moments: every acknowledged turn is there once.

import assert from "node:assert/strict";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { Game, Root } from "everturn";

import { collect, directory, randomFrom, range, Writer } from "./support.mjs";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const EXAMPLES = path.join(HERE, "..", "built");

test("a game loop in TypeScript is killed 100 times", async () => {
  const place = directory();
  const random = randomFrom(7);
  let last = 0;
  for (const _ of range(0, 100)) {
    const writer = new Writer([path.join(EXAMPLES, "game_loop.js"), place]);
    const steps = (await writer.killAfter(1 + random(5), random(4))).map(Number);
    // One more turn may have been stored before its acknowledgement.
    assert.ok(steps[0] === last + 1 || steps[0] === last + 2, `${steps[0]} after ${last}`);
    assert.deepEqual(steps, range(steps[0], steps.at(-1) + 1));
    last = steps.at(-1);
  }
  const root = await Root.open(place);
  const game = await Game.open(root, "demo");
  const texts = (await collect(game)).map((entry) => entry.text);
  assert.ok(texts.length === last || texts.length === last + 1);
  assert.deepEqual(texts, range(1, texts.length + 1).map((n) => `step ${n}`));
  assert.equal(await game.state(undefined, { path: "world.steps" }), texts.length);
  await root.close();
});

test("a LangGraph agent in TypeScript is killed 20 times", async () => {
  const place = directory();
  const random = randomFrom(8);
  let last = 0;
  for (const _ of range(0, 20)) {
    const writer = new Writer([path.join(EXAMPLES, "langgraph_agent.js"), place]);
    last = Math.max(last, ...(await writer.killAfter(1 + random(3), random(8))).map(Number));
  }
  const { talk } = await import(path.join(EXAMPLES, "langgraph_agent.js"));
  await talk(place, 1, () => {});
  const { EverturnSaver } = await import("everturn/langgraph");
  const found = await new EverturnSaver(place).getTuple({ configurable: { thread_id: "demo" } });
  const texts = found.checkpoint.channel_values.messages.map((message) => message.content);
  assert.ok(texts.length >= 2 * (last + 1));
  const wanted = range(1, texts.length / 2 + 1).flatMap((n) => [`question ${n}`, `answer to question ${n}`]);
  assert.deepEqual(texts, wanted);
});

test("two processes with concurrent calls are killed 30 times", async () => {
  const place = directory();
  const random = randomFrom(9);
  const acknowledged = [];
  for (const number of range(0, 15)) {
    const writers = ["a", "b"].map((name) => new Writer([path.join(HERE, "writer.mjs"), place, `${name}${number}`]));
    acknowledged.push(...(await writers[0].killAfter(5 + random(35))));
    acknowledged.push(...(await writers[1].killAfter(1 + random(40))));
  }
  const root = await Root.open(place);
  const texts = { game: [], item: [], entry: [] };
  for (const { id, format } of await root.sessions()) {
    if (format === "game") texts.game.push(...(await collect(await root.find(id))).map((entry) => entry.text));
  }
  texts.item = (await root.thread("shared").items()).map((item) => item.content);
  const { EverturnSessionStore } = await import("everturn/claude-agent-sdk");
  const entries = await new EverturnSessionStore(root).load({ projectKey: "p", sessionId: "s" });
  texts.entry = entries.map((entry) => entry.uuid);
  for (const [kind, found] of Object.entries(texts)) {
    const wanted = acknowledged.filter((line) => line.startsWith(`${kind} `)).map((line) => line.split(" ")[1]);
    assert.ok(wanted.length > 30, `${kind}: ${wanted.length}`);
    const stored = new Set(found);
    assert.equal(stored.size, found.length, `${kind}: something is stored twice`);
    assert.deepEqual(wanted.filter((text) => !stored.has(text)), []);
    // What one writer has stored is the start of what it was going to store.
    const counts = new Map();
    for (const text of found) {
      const [, writer, at] = /^(.*)\.(\d+)$/.exec(text);
      assert.equal(Number(at), counts.get(writer) ?? 0);
      counts.set(writer, Number(at) + 1);
    }
  }
  await root.close();
});
