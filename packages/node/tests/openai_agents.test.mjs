// The session for the OpenAI Agents SDK. The SDK publishes no tests to npm; its own session in memory is the reference.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import test from "node:test";

import { Agent, isSessionHistoryRewriteAwareSession, isSessionHistoryTransactionAwareSession, MemorySession, Runner, setTracingDisabled } from "@openai/agents-core";
import { assistantMessage, ScriptedModel } from "@openai/agents-core/testing";
import { OpenAIResponsesCompactionSession } from "@openai/agents-openai";
import { BadRequest, Conflict, Root } from "everturn";
import { EverturnSession } from "everturn/openai-agents";

import { collect, directory, ended, range, runModule } from "./support.mjs";

setTracingDisabled(true);

const user = (content) => ({ type: "message", role: "user", content });
const call = (callId, name) => ({ type: "function_call", callId, name, arguments: "{}", status: "completed" });

/** What a step on a session returns: the value, or the word "error". */
async function outcome(work) {
  try {
    return await work();
  } catch {
    return "error";
  }
}

/** Random steps, the same for every session. */
function steps(seed) {
  let state = seed;
  const below = (end) => (state = (state * 48271) % 2147483647) % end;
  const items = () => range(0, below(3)).map(() => (below(3) === 0 ? call(`c${below(3)}`, "look") : user(`text ${below(50)}`)));
  return range(0, 60).map(() => {
    const kind = below(8);
    const [given, other, number] = [items(), items(), below(4)];
    return async (session) => {
      if (kind === 0) return session.popItem();
      if (kind === 1 && number === 0) return session.clearSession();
      if (kind === 2) return session.applyHistoryMutations({ mutations: [{ type: "replace_function_call", callId: `c${number}`, replacement: call(`c${number}`, "new") }] });
      if (kind === 3) return session.applyHistoryTransaction({ operationId: `op${number}`, transaction: { type: "append_items", items: given } });
      if (kind === 4) {
        const all = await session.getItems();
        const expectedSuffix = number === 3 ? other : all.slice(all.length - Math.min(number, all.length));
        return session.applyHistoryTransaction({ operationId: `r${below(1e9)}`, transaction: { type: "replace_suffix", expectedSuffix, replacement: given } });
      }
      if (kind === 5) return session.getItems(number - 1);
      return session.addItems(given);
    };
  });
}

test("random steps have the same outcome as with the session of the SDK", async () => {
  const root = await Root.open(directory());
  for (const seed of range(1, 9)) {
    const [ours, theirs] = [new EverturnSession(`s${seed}`, root), new MemorySession()];
    const [own, reference] = [steps(seed), steps(seed)];
    for (const at of range(0, own.length)) {
      assert.deepEqual(await outcome(() => own[at](ours)), await outcome(() => reference[at](theirs)), `seed ${seed}, step ${at}`);
      assert.deepEqual(await ours.getItems(), await theirs.getItems(), `seed ${seed}, step ${at}`);
    }
  }
  await root.close();
});

test("items come back as they were", async () => {
  const root = await Root.open(directory());
  const session = new EverturnSession("user/7", root);
  assert.equal(await session.getSessionId(), "user/7");
  assert.ok(isSessionHistoryRewriteAwareSession(session) && isSessionHistoryTransactionAwareSession(session));
  const items = [user("Where is the key?"), { type: "checkpoint", id: "not one of ours", key: 2 }, { type: "x", data: new Uint8Array([1, 255]), deep: { bytes: [new Uint8Array(0)] } }];
  await session.addItems(items);
  assert.deepEqual(await new EverturnSession("user/7", root.path).getItems(), items);
  assert.deepEqual(await session.getItems(2), items.slice(1));
  assert.deepEqual(await session.popItem(), items[2]);
  await assert.rejects(session.addItems([user("a"), { ...user("b"), bad: NaN }]), BadRequest);
  await assert.rejects(session.addItems([{ $bytes: "x" }]), BadRequest);
  assert.equal((await session.getItems()).length, 2);
  assert.equal((await root.search("Where"))[0].text, "Where is the key?");
  await session.close();
  await assert.rejects(session.getItems(), BadRequest);
  await root.close();
});

test("an operation is applied once, in every process", async () => {
  const place = directory();
  const code = `
    import { Root } from ${JSON.stringify(import.meta.resolve("everturn"))};
    import { EverturnSession } from ${JSON.stringify(import.meta.resolve("everturn/openai-agents"))};
    const session = new EverturnSession("s", await Root.open(process.argv[1], { wait: 60 }));
    for (let n = 0; n < 30; n += 1) {
      await session.applyHistoryTransaction({ operationId: "op" + n, transaction: { type: "append_items", items: [{ role: "user", content: "shared " + n }] } });
      await session.addItems([{ role: "user", content: process.argv[2] + n }]);
    }
  `;
  await Promise.all(["a", "b"].map((name) => runModule(code, place, name)));
  const session = new EverturnSession("s", place);
  const texts = (await session.getItems()).map((item) => item.content);
  assert.equal(texts.length, 90);
  assert.equal(new Set(texts).size, 90);
  assert.deepEqual(texts.filter((text) => text.startsWith("shared")), range(0, 30).map((n) => `shared ${n}`));
  // The order of members does not matter, everything else does.
  const again = (item) => session.applyHistoryTransaction({ operationId: "op3", transaction: { type: "append_items", items: [item] } });
  await again({ content: "shared 3", role: "user" });
  await assert.rejects(again({ content: "other", role: "user" }), Conflict);
  assert.equal((await session.getItems()).length, 90);
});

test("the runner uses the session, also for compaction", async () => {
  const root = await Root.open(directory());
  const model = new ScriptedModel([[assistantMessage("North.")], [assistantMessage("Yes.")], [{ type: "compaction", encrypted_content: "zzz" }, assistantMessage("Short.")]]);
  const agent = new Agent({ name: "guide", model });
  const session = new EverturnSession("t", root);
  const runner = new Runner();
  await runner.run(agent, "Which way?", { session });
  await runner.run(agent, "Sure?", { session });
  const found = await collect(await root.find("t"));
  assert.deepEqual(found.map((entry) => entry.text), ["Which way?", "North.", "Sure?", "Yes."]);
  await runner.run(agent, "And then?", { session });
  assert.equal((await session.getItems()).some((item) => item.type === "compaction"), true);
  await root.close();
});

test("the compaction of the SDK replaces the items", async () => {
  const session = new EverturnSession("t", directory());
  const compact = async () => ({ output: [{ type: "compaction", id: "c", encrypted_content: "zzz" }], usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } });
  const compacting = new OpenAIResponsesCompactionSession({ client: { responses: { compact } }, underlyingSession: session, compactionMode: "input" });
  await compacting.addItems([user("a"), user("b")]);
  await compacting.runCompaction({ force: true });
  const items = await session.getItems();
  assert.deepEqual(items.map((item) => item.type), ["compaction"]);
  await session.addItems([user("c")]);
  await session.replaceHistoryWithCompaction([items[0], user("d")]);
  assert.deepEqual((await session.getItems()).map((item) => item.content ?? item.type), ["compaction", "d"]);
});

const SCRIPT = `
import asyncio, json, sys
from everturn.openai_agents import EverturnSession
session = EverturnSession("s", sys.argv[1])
async def main():
    print(json.dumps(await session.get_items()))
    await session.add_items([{"role": "user", "content": "from python", "n": 1.5}])
    if len(sys.argv) > 2:
        await session.clear_session()
asyncio.run(main())
`;

test("items are shared with the Python package", { skip: !process.env.EVERTURN_PYTHON }, async () => {
  const place = directory();
  const python = async (...more) => JSON.parse(await ended(spawn(process.env.EVERTURN_PYTHON, ["-c", SCRIPT, place, ...more], { stdio: ["ignore", "pipe", "inherit"] })));
  const session = new EverturnSession("s", place);
  const operation = { operationId: "op", transaction: { type: "append_items", items: [user("from node")] } };
  await session.applyHistoryTransaction(operation);
  assert.deepEqual(await python(), [user("from node")]);
  const both = [user("from node"), { role: "user", content: "from python", n: 1.5 }];
  assert.deepEqual(await session.getItems(), both);
  assert.deepEqual(await python("clear"), both);
  assert.deepEqual(await session.getItems(), []);
  // What was cleared may be applied again.
  await session.applyHistoryTransaction(operation);
  assert.deepEqual(await session.getItems(), [user("from node")]);
});
