// Roots and sessions: values, errors, order, the event loop, worker threads and processes. No framework is needed.

import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import test from "node:test";
import { Worker } from "node:worker_threads";

import * as everturn from "everturn";
import { BadRequest, Busy, Campaign, ChatLog, Conflict, Damaged, Game, NotFound, Root, Session, Thread } from "everturn";

import { collect, directory, range, runModule } from "./support.mjs";

const TURN = { actor: "player", narration: "You go in." };

async function withRoot(work, options) {
  const root = await Root.open(directory(), options);
  try {
    return await work(root);
  } finally {
    await root.close();
  }
}

test("a game is written and read", () =>
  withRoot(async (root) => {
    const game = await Game.openOrCreate(root, "demo");
    const change = { op: "set", path: "npcs.luna.trust", value: 5 };
    const stored = await game.append({ ...TURN, deltas: [{ scope: "world", deltas: [change] }] });
    assert.equal(stored.turn, 1);
    assert.equal(await game.state(undefined, { path: "world.npcs.luna.trust" }), 5);
    assert.deepEqual((await game.state(0)).world.npcs, {});
    assert.equal((await game.diff(0, 1))[0].scope, "world");
    await game.append({ actor: "gm", narration: "Dark." });
    assert.deepEqual((await collect(game)).map((entry) => entry.text), ["You go in.", "Dark."]);
    assert.equal((await game.mark("start", { turn: 1 })).turn, 1);
    assert.deepEqual((await game.marks()).map((mark) => mark.name), ["start"]);
    await game.undo();
    assert.equal((await game.fork("other", { turn: 1 })).session, "other");
    const { branch } = await game.rewind(1);
    await game.close();
    const ids = (await root.sessions()).map((session) => session.id);
    assert.deepEqual(new Set(ids), new Set(["demo", "other", branch]));
    assert.ok((await root.find("demo")) instanceof Game);
  }));

test("every format can be created and continued", () =>
  withRoot(async (root) => {
    const turns = [
      [Game, "g", TURN],
      [Campaign, "camp_0001", { user_input: "I look.", assistant_text: "A heath." }],
      [ChatLog, "tale", { type: "npc", name: "Mara", text: "Hello." }],
      [Thread, "t", { role: "user", content: "Hello." }],
    ];
    for (const [kind, id, turn] of turns) {
      const session = await kind.create(root, id);
      assert.ok(session instanceof Session);
      assert.ok((await session.append(turn)).turn >= 1);
      await session.close();
      const again = await kind.open(root, id);
      assert.ok((await collect(again)).length >= 1);
      await again.close();
    }
  }));

test("values keep their types, and integers their digits", () =>
  withRoot(async (root) => {
    const value = { n: 1, f: 1.5, big: 2n ** 70n, neg: -(2n ** 70n), odd: 9007199254740993n, t: true, none: null, s: '門\u0000"\\12345678901234567890', l: [[], {}], e: 1e-7, lone: "\ud800" };
    const thread = await Thread.create(root, "t");
    await thread.append({ role: "user", content: "x", value: { ...value, missing: undefined } });
    const [entry] = await collect(thread.entries(undefined, undefined, { raw: true }));
    assert.deepEqual(entry.raw.value, value);
    const line = fs.readFileSync(path.join(root.path, "threads/t/thread.jsonl"), "utf8").split("\n")[1];
    assert.ok(line.includes(`"big":${2n ** 70n}`), line);
    await thread.close();
  }));

test("what JSON cannot hold is refused, and nothing is stored", () =>
  withRoot(async (root) => {
    const loop = [];
    loop.push(loop);
    const thread = await Thread.create(root, "t");
    const bad = [NaN, Infinity, new Map(), new Set(), Buffer.from("x"), new Uint8Array(1), [undefined], () => 1, Symbol("x"), /x/, loop];
    for (const value of bad) {
      await assert.rejects(thread.append({ role: "user", content: "x", value }), BadRequest);
      await assert.rejects(root.thread("t").append([{ value }]), BadRequest);
    }
    assert.deepEqual(await collect(thread), []);
    await thread.close();
  }));

test("a deep value is stored", () =>
  withRoot(async (root) => {
    let deep = "end";
    for (const _ of range(0, 1000)) deep = [deep];
    const thread = root.thread("deep");
    await thread.append([{ role: "user", content: "x", value: deep }]);
    let found = (await thread.items())[0].value;
    for (const _ of range(0, 1000)) found = found[0];
    assert.equal(found, "end");
    // Nested so deeply that Node itself cannot write it.
    for (const _ of range(0, 1_000_000)) deep = [deep];
    await assert.rejects(thread.append([{ value: deep }]), BadRequest);
  }));

test("errors have a kind, a code, a path and a hint", () =>
  withRoot(async (root) => {
    await assert.rejects(root.find("nothing"), (error) => error instanceof NotFound && error.code === "not_found");
    await (await Game.create(root, "demo")).close();
    await assert.rejects(Game.create(root, "demo"), (error) => error instanceof Conflict && error.code === "taken");
    await assert.rejects(ChatLog.open(root, "demo"), BadRequest);
    await assert.rejects(Root.open(root.path, { mode: "odd" }), BadRequest);
    const game = await Game.open(root, "demo");
    await game.append(TURN);
    const other = await Root.open(root.path, { wait: 0.05 });
    const second = await Game.open(other, "demo");
    await assert.rejects(second.append(TURN), (error) => {
      assert.ok(error instanceof Busy && error instanceof everturn.EverturnError && error instanceof Error);
      assert.equal(error.name, "Busy");
      assert.equal(error.code, "busy");
      assert.ok(error.hint && error.path);
      return true;
    });
    await other.close();
    await game.close();
    await assert.rejects(game.append(TURN), (error) => error.code === "closed");
  }));

test("a damaged thread is an error and not empty", () =>
  withRoot(async (root) => {
    const thread = root.thread("t");
    await thread.append([{ type: "checkpoint", id: "a", versions: { x: 1 }, values: { x: [1] } }]);
    await thread.append([{ type: "checkpoint", id: "b", parent: "a", versions: { x: 2 }, values: { x: [1, 2] } }]);
    await thread.release();
    const file = path.join(root.path, "threads/t/thread.jsonl");
    const lines = fs.readFileSync(file, "utf8").split("\n");
    fs.writeFileSync(file, `${lines[0]}\n${lines[2]}\n`);
    await assert.rejects(thread.checkpoint("", "b"), Damaged);
  }));

test("a turn with a key is stored once", () =>
  withRoot(async (root) => {
    const game = await Game.create(root, "demo");
    assert.equal((await game.append(TURN, { key: "k1" })).stored, "now");
    assert.equal((await game.append(TURN, { key: "k1" })).stored, "before");
    await assert.rejects(game.append({ ...TURN, narration: "Another." }, { key: "k1" }), Conflict);
    await assert.rejects(game.append(TURN, { after: 7 }), Conflict);
    assert.equal((await collect(game)).length, 1);
    await game.close();
  }));

test("search finds entries of every format", () =>
  withRoot(async (root) => {
    const game = await Game.create(root, "demo");
    await game.append({ actor: "gm", narration: "A lantern burns." });
    await game.close();
    await root.thread("t").append([{ role: "user", content: "Where is the lantern?" }]);
    const found = (await root.search("lantern")).map((hit) => hit.session);
    assert.deepEqual(new Set(found), new Set(["demo", "t"]));
    assert.deepEqual(await root.search("dragon"), []);
    await assert.rejects(root.search('"open'), BadRequest);
  }));

test("the trash keeps a session", () =>
  withRoot(async (root) => {
    const game = await Game.create(root, "demo");
    await game.append(TURN);
    await game.close();
    const name = await root.trash("demo");
    assert.deepEqual(await root.sessions(), []);
    assert.equal(await root.restore(name), "demo");
    assert.equal((await collect(await root.find("demo"))).length, 1);
  }));

test("a root that is read only writes nothing", () =>
  withRoot(async (root) => {
    const game = await Game.create(root, "demo");
    await game.append(TURN);
    await game.close();
    const reader = await Root.open(root.path, { mode: "read_only" });
    const found = await reader.find("demo");
    assert.equal((await collect(found)).length, 1);
    await assert.rejects(found.append(TURN), (error) => error.code === "read_only");
    await reader.close();
    await assert.rejects(Root.open(path.join(root.path, "missing"), { mode: "open" }), everturn.EverturnError);
  }));

test("entries come in pages", () =>
  withRoot(async (root) => {
    await root.thread("long").append(range(0, 1200).map((n) => ({ role: "user", content: `message ${n}` })));
    const session = await Thread.open(root, "long");
    assert.deepEqual((await collect(session)).map((entry) => entry.text), range(0, 1200).map((n) => `message ${n}`));
    assert.deepEqual((await collect(session.entries(5, 7))).map((entry) => entry.turn), [5, 6, 7]);
  }));

test("calls take effect in the order in which they are made", () =>
  withRoot(async (root) => {
    const game = await Game.create(root, "demo");
    const thread = root.thread("t");
    const calls = range(0, 60).flatMap((n) => [
      game.append({ ...TURN, narration: `turn ${n}` }),
      // Each is an object of its own, of the same thread.
      root.thread("t").append([{ role: "user", content: `item ${n}` }]),
    ]);
    const items = thread.items();
    await Promise.all(calls);
    assert.deepEqual((await collect(game)).map((entry) => entry.text), range(0, 60).map((n) => `turn ${n}`));
    assert.deepEqual((await items).map((item) => item.content), range(0, 60).map((n) => `item ${n}`));
    await game.close();
  }));

test("a value that changes after the call is stored as it was", () =>
  withRoot(async (root) => {
    const turn = { ...TURN };
    const game = await Game.create(root, "demo");
    const stored = game.append(turn);
    turn.narration = "changed";
    await stored;
    assert.deepEqual((await collect(game)).map((entry) => entry.text), ["You go in."]);
    await game.close();
  }));

test("the event loop goes on while writes wait, however many", () =>
  withRoot(async (root) => {
    const game = await Game.create(root, "demo");
    await game.append(TURN);
    const other = await Root.open(root.path, { wait: 60 });
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 1);
    // More than Node's own pool has threads. If they waited there, nothing could release the lock.
    const waiting = range(0, 8).map(async () => {
      const second = await Game.open(other, "demo");
      const stored = await second.append(TURN);
      await second.close();
      return stored.turn;
    });
    while (ticks < 200) await new Promise((resolve) => setTimeout(resolve, 1));
    await fs.promises.readFile(path.join(root.path, "missing")).catch(() => {});
    await game.close();
    const turns = await Promise.all(waiting);
    clearInterval(ticking);
    assert.deepEqual(turns.sort((a, b) => a - b), range(2, 10));
    await other.close();
  }));

test("the event loop goes on during a long search", () =>
  withRoot(async (root) => {
    const items = range(0, 2000).map((n) => ({ role: "user", content: `message ${n} `.repeat(40) }));
    for (const n of range(0, 6)) await root.thread(`t${n}`).append(items);
    let [longest, last] = [0, performance.now()];
    const ticking = setInterval(() => {
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }, 2);
    const started = performance.now();
    const found = await root.search("message", 20);
    const took = performance.now() - started;
    clearInterval(ticking);
    assert.equal(found.length, 20);
    assert.ok(longest < Math.max(took / 2, 100), `the loop was blocked for ${longest} of ${took} ms`);
  }));

test("worker threads share a root", () =>
  withRoot(async (root) => {
    const code = `
      import { parentPort, workerData } from "node:worker_threads";
      const { Root } = await import(workerData.module);
      const root = await Root.open(workerData.path, { wait: 60 });
      for (let n = 0; n < 20; n += 1) await root.thread("shared").append([{ role: "user", content: workerData.name + "." + n }]);
      await root.close();
    `;
    const module = import.meta.resolve("everturn");
    const source = new URL(`data:text/javascript,${encodeURIComponent(code)}`);
    const workers = ["a", "b", "c"].map(
      (name) => new Promise((resolve, reject) => {
        const worker = new Worker(source, { workerData: { module, path: root.path, name } });
        worker.on("error", reject).on("exit", resolve);
      }),
    );
    assert.deepEqual(await Promise.all(workers), [0, 0, 0]);
    const found = (await root.thread("shared").items()).map((item) => item.content);
    for (const name of ["a", "b", "c"]) {
      assert.deepEqual(found.filter((text) => text.startsWith(name)), range(0, 20).map((n) => `${name}.${n}`));
    }
  }));

test("two processes take turns on one thread", () =>
  withRoot(async (root) => {
    const code = `
      import { Root } from ${JSON.stringify(import.meta.resolve("everturn"))};
      const root = await Root.open(process.argv[1], { wait: 60 });
      for (let n = 0; n < 40; n += 1) await root.thread("shared").append([{ role: "user", content: process.argv[2] + "." + n }]);
    `;
    await Promise.all(["a", "b"].map((name) => runModule(code, root.path, name)));
    const found = (await root.thread("shared").items()).map((item) => item.content);
    assert.equal(found.length, 80);
    for (const name of ["a", "b"]) {
      assert.deepEqual(found.filter((text) => text.startsWith(name)), range(0, 40).map((n) => `${name}.${n}`));
    }
  }));

test("any text is the key of a thread", async () => {
  for (const key of ["user/7", "..", "latest", "ü 1", "a.b", "x".repeat(150), "con"]) {
    await withRoot(async (root) => {
      await root.thread(key).append([{ role: "user", content: "x" }]);
      assert.deepEqual(await root.threadKeys(), [key]);
      assert.equal((await root.thread(key).items()).length, 1);
    });
  }
});

test("a suffix of items is replaced once for each operation", () =>
  withRoot(async (root) => {
    const thread = root.thread("t");
    const item = (n) => JSON.stringify({ n });
    const record = (n) => `{"type":"item","item":${item(n)}}`;
    await thread.appendTexts([1, 2, 3].map(record), "{}");
    const numbers = async () => (await thread.items()).map((one) => one.item.n);
    assert.equal(await thread.replaceSuffixTexts("{}", [item(3)], [record(4), record(5)], ["op", "d"]), true);
    assert.equal(await thread.replaceSuffixTexts("{}", [item(3)], [record(4), record(5)], ["op", "d"]), false);
    assert.deepEqual(await numbers(), [1, 2, 4, 5]);
    await assert.rejects(thread.replaceSuffixTexts("{}", [], [record(6)], ["op", "other"]), Conflict);
    await assert.rejects(thread.replaceSuffixTexts("{}", [item(3)], [record(6)], ["op2", "d"]), Conflict);
    await assert.rejects(thread.replaceSuffixTexts("{}", range(0, 9).map(item), [], ["op2", "d"]), Conflict);
    assert.deepEqual(await numbers(), [1, 2, 4, 5]);
    // The key of an operation is not a turn, and it is kept until the items are cleared.
    const session = await Thread.open(root, "t");
    assert.equal((await session.info()).turns, 4);
    await thread.popItem();
    assert.equal(await thread.replaceSuffixTexts("{}", [item(3)], [record(4), record(5)], ["op", "d"]), false);
    await thread.clearItems();
    assert.equal(await thread.replaceSuffixTexts("{}", [], [record(7)], ["op", "d"]), true);
    assert.deepEqual(await numbers(), [7]);
  }));

test("an idle lock is released, and a closed root has released its threads", () =>
  withRoot(async (root) => {
    await root.thread("t").append([{ role: "user", content: "x" }]);
    const other = await Root.open(root.path, { wait: 60 });
    await other.thread("t").append([{ role: "user", content: "y" }]);
    await other.close();
    const third = await Root.open(root.path, { wait: 0 });
    await third.thread("t").append([{ role: "user", content: "z" }]);
    assert.deepEqual((await root.thread("t").items()).map((item) => item.content), ["x", "y", "z"]);
    await third.close();
    await assert.rejects(third.thread("t").items(), (error) => error.code === "closed");
  }));

test("both kinds of modules have the same classes", () => {
  const required = createRequire(import.meta.url)("everturn");
  assert.deepEqual(Object.keys(required).sort(), Object.keys(everturn).filter((name) => name !== "default").sort());
  assert.equal(required.Root, Root);
});
