// The session store for the Claude Agent SDK: the contracts of its documentation, processes, and other readers.
//
// The SDK for TypeScript publishes no suite to npm. The contracts are those that the SDK for Python publishes in
// `claude_agent_sdk.testing`, which name the same behaviour.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import test from "node:test";

import { foldSessionSummary, getSessionInfo, getSessionMessages, listSessions } from "@anthropic-ai/claude-agent-sdk";
import { Damaged, Root } from "everturn";
import { EverturnSessionStore } from "everturn/claude-agent-sdk";

import { directory, ended, range, runModule } from "./support.mjs";

const KEY = { projectKey: "proj", sessionId: "sess" };
const SUB1 = { ...KEY, subpath: "subagents/agent-1" };
const SUB2 = { ...KEY, subpath: "subagents/agent-2" };
const fresh = () => new EverturnSessionStore(directory());
const entry = (members) => ({ type: "x", ...members });

const CONTRACTS = {
  "entries come back in order": async (store) => {
    await store.append(KEY, [entry({ uuid: "b", n: 1 }), entry({ uuid: "a", n: 2 })]);
    assert.deepEqual(await store.load(KEY), [entry({ uuid: "b", n: 1 }), entry({ uuid: "a", n: 2 })]);
  },
  "an unknown key is null": async (store) => {
    assert.equal(await store.load({ projectKey: "proj", sessionId: "nope" }), null);
    await store.append(KEY, [entry({ uuid: "x" })]);
    assert.equal(await store.load({ ...KEY, subpath: "nope" }), null);
  },
  "several appends keep their order": async (store) => {
    await store.append(KEY, [entry({ uuid: "z", n: 1 })]);
    await store.append(KEY, [entry({ uuid: "a", n: 2 }), entry({ uuid: "m", n: 3 })]);
    await store.append(KEY, [entry({ uuid: "b", n: 4 })]);
    assert.deepEqual((await store.load(KEY)).map(({ n }) => n), [1, 2, 3, 4]);
  },
  "an append of nothing does nothing": async (store) => {
    await store.append(KEY, [entry({ uuid: "a" })]);
    await store.append(KEY, []);
    assert.equal((await store.load(KEY)).length, 1);
  },
  "subpaths are independent": async (store) => {
    await store.append(KEY, [entry({ uuid: "m" })]);
    await store.append(SUB1, [entry({ uuid: "s" })]);
    assert.deepEqual(await store.load(KEY), [entry({ uuid: "m" })]);
    assert.deepEqual(await store.load(SUB1), [entry({ uuid: "s" })]);
  },
  "projects are independent": async (store) => {
    for (const projectKey of ["A", "B"]) await store.append({ projectKey, sessionId: "s1" }, [entry({ from: projectKey })]);
    for (const projectKey of ["A", "B"]) {
      assert.deepEqual(await store.load({ projectKey, sessionId: "s1" }), [entry({ from: projectKey })]);
      assert.equal((await store.listSessions(projectKey)).length, 1);
    }
  },
  "sessions of a project are listed": async (store) => {
    for (const [projectKey, sessionId] of [["proj", "a"], ["proj", "b"], ["other", "c"]]) await store.append({ projectKey, sessionId }, [entry({ n: 1 })]);
    const sessions = await store.listSessions("proj");
    assert.deepEqual(sessions.map(({ sessionId }) => sessionId).sort(), ["a", "b"]);
    for (const { mtime } of sessions) assert.ok(Number.isInteger(mtime) && mtime > 1e12);
    assert.deepEqual(await store.listSessions("never"), []);
  },
  "subpaths are not listed as sessions": async (store) => {
    await store.append(KEY, [entry({ n: 1 })]);
    await store.append(SUB1, [entry({ n: 1 })]);
    assert.deepEqual((await store.listSessions("proj")).map(({ sessionId }) => sessionId), ["sess"]);
  },
  "a deleted session is null": async (store) => {
    await store.delete({ projectKey: "proj", sessionId: "never-written" });
    await store.append(KEY, [entry({ n: 1 })]);
    await store.delete(KEY);
    assert.equal(await store.load(KEY), null);
  },
  "a deleted session takes its subpaths along": async (store) => {
    const [other, project] = [{ projectKey: "proj", sessionId: "sess2" }, { projectKey: "other", sessionId: "sess" }];
    for (const key of [KEY, SUB1, SUB2, other, project]) await store.append(key, [entry({ n: 1 })]);
    await store.delete(KEY);
    for (const key of [KEY, SUB1, SUB2]) assert.equal(await store.load(key), null);
    for (const key of [other, project]) assert.equal((await store.load(key)).length, 1);
    assert.deepEqual(await store.listSubkeys(KEY), []);
    assert.deepEqual((await store.listSessions("proj")).map(({ sessionId }) => sessionId), ["sess2"]);
  },
  "a deleted subpath leaves the others": async (store) => {
    for (const key of [KEY, SUB1, SUB2]) await store.append(key, [entry({ n: 1 })]);
    await store.delete(SUB1);
    assert.equal(await store.load(SUB1), null);
    for (const key of [KEY, SUB2]) assert.equal((await store.load(key)).length, 1);
    assert.deepEqual(await store.listSubkeys(KEY), ["subagents/agent-2"]);
  },
  "subpaths are listed": async (store) => {
    for (const key of [KEY, SUB1, SUB2, { ...SUB1, sessionId: "other" }]) await store.append(key, [entry({ n: 1 })]);
    assert.deepEqual((await store.listSubkeys(KEY)).sort(), ["subagents/agent-1", "subagents/agent-2"]);
  },
  "the main transcript is not a subpath": async (store) => {
    await store.append(KEY, [entry({ n: 1 })]);
    assert.deepEqual(await store.listSubkeys(KEY), []);
    assert.deepEqual(await store.listSubkeys({ projectKey: "proj", sessionId: "never" }), []);
  },
  "summaries are kept for the fold": async (store) => {
    const at = (second, members) => entry({ timestamp: `2024-01-01T00:00:0${second}.000Z`, ...members });
    await store.append(KEY, [at(0, { customTitle: "first" }), at(1)]);
    await store.append(KEY, [at(2, { customTitle: "second" })]);
    await store.append({ projectKey: "other", sessionId: "elsewhere" }, [at(0)]);
    const [summary, ...more] = await store.listSessionSummaries("proj");
    assert.equal(more.length, 0);
    assert.equal(summary.sessionId, "sess");
    assert.ok(summary.mtime >= (await store.listSessions("proj"))[0].mtime);
    const folded = foldSessionSummary(summary, KEY, [at(3)]);
    assert.deepEqual([folded.sessionId, folded.mtime], ["sess", summary.mtime]);
    await store.append(SUB1, [at(9, { customTitle: "subagent" })]);
    assert.deepEqual((await store.listSessionSummaries("proj"))[0].data, summary.data);
    assert.deepEqual(await store.listSessionSummaries("never"), []);
    await store.delete(KEY);
    assert.deepEqual(await store.listSessionSummaries("proj"), []);
  },
};

for (const [name, contract] of Object.entries(CONTRACTS)) test(`contract: ${name}`, () => contract(fresh()));

test("entries are deep-equal, with members that JavaScript treats specially", async () => {
  const store = fresh();
  const odd = JSON.parse('{"type":"x","uuid":"u","__proto__":{"a":1},"constructor":[1],"n":1e21,"s":"\\ud800 門","d":{"z":1,"a":null}}');
  await store.append(KEY, [odd]);
  assert.deepEqual(await store.load(KEY), [odd]);
  assert.ok(Object.hasOwn((await store.load(KEY))[0], "__proto__"));
});

test("an entry is stored once by its uuid", async () => {
  const place = directory();
  const store = new EverturnSessionStore(place);
  const [user, title] = [{ type: "user", uuid: "u1" }, { type: "ai-title", title: "x" }];
  await store.append(KEY, [user, title, user]);
  await store.append(KEY, [user, title]);
  const again = new EverturnSessionStore(place);
  await again.append(KEY, [user]);
  assert.deepEqual(await again.load(KEY), [user, title, title]);
});

test("appends that are not awaited keep their order", async () => {
  const store = fresh();
  await Promise.all(range(0, 30).map((n) => store.append(KEY, [entry({ uuid: `u${n}`, n })])));
  assert.deepEqual((await store.load(KEY)).map(({ n }) => n), range(0, 30));
});

test("appends do not wait for the lock of the one before", async () => {
  const root = await Root.open(directory(), { wait: 0 });
  const [store, other] = [new EverturnSessionStore(root), new EverturnSessionStore(root)];
  for (const n of range(0, 10)) await (n % 2 ? store : other).append(KEY, [entry({ uuid: `u${n}` })]);
  assert.equal((await store.load(KEY)).length, 10);
  await root.close();
});

test("appends of two processes are kept once", async () => {
  const place = directory();
  const code = `
    import { Root } from ${JSON.stringify(import.meta.resolve("everturn"))};
    import { EverturnSessionStore } from ${JSON.stringify(import.meta.resolve("everturn/claude-agent-sdk"))};
    const store = new EverturnSessionStore(await Root.open(process.argv[1], { wait: 60 }));
    for (let n = 0; n < 20; n += 1) {
      await store.append({ projectKey: "p", sessionId: "s" }, [{ type: "user", uuid: "shared-" + n }, { type: "user", uuid: process.argv[2] + "-" + n }]);
    }
  `;
  await Promise.all(["a", "b"].map((name) => runModule(code, place, name)));
  const found = (await new EverturnSessionStore(place).load({ projectKey: "p", sessionId: "s" })).map(({ uuid }) => uuid);
  assert.equal(found.length, 60);
  assert.equal(new Set(found).size, 60);
});

test("names cannot leave their directory", async () => {
  const place = directory();
  const store = new EverturnSessionStore(path.join(place, "saves"));
  for (const [projectKey, sessionId, subpath] of [["../../x", "..", "../../y"], ["a/b", "c/d", "e"], [".hidden!'()*", "s", "subagents/agent-1"]]) {
    const key = { projectKey, sessionId };
    await store.append(key, [entry({ n: projectKey })]);
    await store.append({ ...key, subpath }, [entry({ n: subpath })]);
    assert.deepEqual((await store.listSessions(projectKey)).map((session) => session.sessionId), [sessionId]);
    assert.deepEqual(await store.listSubkeys(key), [subpath]);
    assert.deepEqual(await store.load({ ...key, subpath }), [entry({ n: subpath })]);
  }
  assert.deepEqual(fs.readdirSync(place), ["saves"]);
});

test("a damaged transcript is an error", async () => {
  const root = await Root.open(directory());
  await new EverturnSessionStore(root).append(KEY, [entry({ uuid: "u1" })]);
  await root.close();
  fs.appendFileSync(path.join(root.path, "projects/proj/sess.jsonl"), '{"type": "us\n{"type":"x"}\n');
  await assert.rejects(new EverturnSessionStore(root.path).load(KEY), Damaged);
});

const ID = "0f0e5d9e-52b2-4b6e-9f59-4a8d3a3f9d11";
const BASE = { sessionId: ID, cwd: "/srv/site", version: "2.1.0", timestamp: "2026-01-01T10:00:00.000Z" };
const TALK = [
  { ...BASE, type: "user", uuid: "7d1f6a0a-0000-4000-8000-000000000001", parentUuid: null, message: { role: "user", content: "Fix the gate." } },
  { ...BASE, type: "assistant", uuid: "7d1f6a0a-0000-4000-8000-000000000002", parentUuid: "7d1f6a0a-0000-4000-8000-000000000001", message: { role: "assistant", content: [{ type: "text", text: "It is fixed." }] } },
];

test("the SDK itself lists and reads the sessions", async () => {
  const store = fresh();
  const projectKey = "-srv-site";
  await store.append({ projectKey, sessionId: ID }, TALK);
  const sessions = await listSessions({ dir: "/srv/site", sessionStore: store });
  assert.deepEqual(sessions.map(({ sessionId }) => sessionId), [ID]);
  assert.equal((await getSessionInfo(ID, { dir: "/srv/site", sessionStore: store })).sessionId, ID);
  const messages = await getSessionMessages(ID, { dir: "/srv/site", sessionStore: store });
  assert.deepEqual(messages.map(({ type }) => type), ["user", "assistant"]);
});

test("everturn reads the files as those of Claude Code", { skip: !process.env.EVERTURN_BINARY }, async () => {
  const root = await Root.open(directory());
  await new EverturnSessionStore(root).append({ projectKey: "-srv-site", sessionId: ID }, TALK);
  await root.close();
  const file = path.join(root.path, `projects/-srv-site/${ID}.jsonl`);
  const shown = execFileSync(process.env.EVERTURN_BINARY, ["show", file, "--json"], { encoding: "utf8" });
  const texts = shown.trim().split("\n").map((line) => JSON.parse(line).text);
  assert.deepEqual(texts, ["Fix the gate.", "It is fixed."]);
});

const SCRIPT = `
import asyncio, json, sys
from everturn.claude_agent_sdk import EverturnSessionStore
store = EverturnSessionStore(sys.argv[1])
key = {"project_key": "pro ject'", "session_id": "s!"}
async def main():
    print(json.dumps([entry["uuid"] for entry in await store.load(key) or []]))
    await store.append(key, [{"type": "user", "uuid": sys.argv[2], "customTitle": sys.argv[2]}, {"type": "user", "uuid": "n1"}])
    await store.append({**key, "subpath": "subagents/x"}, [{"type": "x"}])
    print(json.dumps([(await store.list_session_summaries("pro ject'"))[0]["data"].get("custom_title"), await store.list_subkeys(key)]))
asyncio.run(main())
`;

test("transcripts are shared with the Python package", { skip: !process.env.EVERTURN_PYTHON }, async () => {
  const place = directory();
  const python = async (uuid) => (await ended(spawn(process.env.EVERTURN_PYTHON, ["-c", SCRIPT, place, uuid], { stdio: ["ignore", "pipe", "inherit"] }))).trim().split("\n").map((line) => JSON.parse(line));
  const key = { projectKey: "pro ject'", sessionId: "s!" };
  const store = new EverturnSessionStore(place);
  await store.append(key, [entry({ uuid: "n1", customTitle: "from node" })]);
  assert.deepEqual(await python("p1"), [["n1"], ["p1", ["subagents/x"]]]);
  assert.deepEqual((await store.load(key)).map(({ uuid }) => uuid), ["n1", "p1"]);
  assert.equal((await store.listSessionSummaries(key.projectKey))[0].data.customTitle, "p1");
  await store.append(key, [entry({ uuid: "p1" }), entry({ uuid: "n2" })]);
  assert.equal((await store.listSessionSummaries(key.projectKey))[0].data.customTitle, "p1");
  assert.deepEqual(await python("p2"), [["n1", "p1", "n2"], ["p2", ["subagents/x"]]]);
  assert.deepEqual(await store.listSubkeys(key), ["subagents/x"]);
});
