// The saver for LangGraph: values, graphs, storage, and threads that are shared with the Python package.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import test from "node:test";

import { AIMessage, AIMessageChunk, ChatMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { Annotation, Command, END, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, MemorySaver } from "@langchain/langgraph-checkpoint";
import { Root } from "everturn";
import { EverturnSaver } from "everturn/langgraph";

import { collect, directory, ended, range } from "./support.mjs";

const CONFIG = { configurable: { thread_id: "t", checkpoint_ns: "" } };

/** A serializer that hides what it stores. */
class Hiding {
  #flip = (data) => data.map((byte) => byte ^ 0x55);
  async dumpsTyped(value) {
    const [type, data] = await new MemorySaver().serde.dumpsTyped(value);
    return [`hidden ${type}`, this.#flip(data)];
  }
  loadsTyped(type, data) {
    return new MemorySaver().serde.loadsTyped(type.slice(7), this.#flip(data));
  }
}

for (const serde of [undefined, new Hiding()]) {
  test(`values of every kind come back, with ${serde ? "a serializer of the caller" : "the default serializer"}`, async () => {
    const place = directory();
    const values = {
      messages: [
        new HumanMessage({ content: "secretword", id: "1", name: "Ann" }),
        new AIMessage({ content: "", id: "2", tool_calls: [{ name: "f", args: { x: 1.5 }, id: "c", type: "tool_call" }], usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } }),
        new ToolMessage({ content: [{ type: "text", text: "r" }], tool_call_id: "c", artifact: { a: 1 }, status: "error" }),
        new SystemMessage("s"),
        new ChatMessage({ content: "c", role: "critic" }),
        new FunctionMessage({ content: "f", name: "g" }),
        new AIMessageChunk({ content: "part" }),
      ],
      set: new Set([1, 2]),
      map: new Map([["a", new Set([1])]]),
      bytes: new Uint8Array([0, 255]),
      keys: { a: { $type: "x" } },
      plain: { a: [1, 2.5, null, true, "門"] },
      deep: [{ x: new Set([3]) }, { y: undefined }],
    };
    const versions = Object.fromEntries(Object.keys(values).map((name) => [name, 1]));
    const checkpoint = { ...emptyCheckpoint(), channel_values: values, channel_versions: versions };
    const metadata = { source: "loop", step: 1, parents: {} };
    const writes = [["messages", new HumanMessage("w")], ["set", new Set([3])]];
    const results = [];
    for (const saver of [new EverturnSaver(place, { serde }), new MemorySaver(serde && undefined)]) {
      const stored = await saver.put(CONFIG, checkpoint, metadata, versions);
      await saver.putWrites(stored, writes, "task");
      const reader = saver instanceof EverturnSaver ? new EverturnSaver(place, { serde }) : saver;
      results.push(await reader.getTuple(CONFIG));
    }
    const [found, wanted] = results;
    const plain = (tuple) => JSON.parse(JSON.stringify([tuple.checkpoint.channel_values.messages, tuple.pendingWrites]));
    assert.deepEqual(plain(found), plain(wanted));
    delete found.checkpoint.channel_values.messages;
    delete wanted.checkpoint.channel_values.messages;
    assert.deepEqual(found.checkpoint, wanted.checkpoint);
    assert.deepEqual(found.metadata, wanted.metadata);
    assert.deepEqual(found.config, wanted.config);
    const text = fs.readFileSync(path.join(place, "threads/t/thread.jsonl"), "utf8");
    assert.equal(text.includes("secretword"), serde === undefined);
  });
}

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  count: Annotation({ reducer: (old, more) => old + more, default: () => 0 }),
  profile: Annotation(),
});

function chat(checkpointer) {
  const answer = (state) => ({ messages: [new AIMessage(`answer ${state.count}`)], count: 1 });
  return new StateGraph(State).addNode("answer", answer).addEdge(START, "answer").addEdge("answer", END).compile({ checkpointer });
}

test("a graph runs, resumes and is readable", async () => {
  const place = directory();
  for (const n of range(0, 5)) {
    await chat(new EverturnSaver(place)).invoke({ messages: [new HumanMessage(`question ${n}`)], profile: { name: "Ann" } }, CONFIG);
  }
  const graph = chat(new EverturnSaver(place));
  const state = await graph.getState(CONFIG);
  assert.equal(state.values.messages.length, 10);
  assert.equal(state.values.count, 5);
  const history = await collect(graph.getStateHistory(CONFIG));
  assert.equal(history.length, 15);
  // A fork from an earlier checkpoint continues from there, and the main line stays.
  await graph.invoke({ messages: [new HumanMessage("another way")] }, history.at(-3).config);
  assert.equal((await collect(graph.getStateHistory(CONFIG))).length, 18);
  const root = await Root.open(place);
  const session = await root.find("t");
  assert.equal((await session.state()).count, 2);
  assert.ok((await collect(session)).some((entry) => entry.text === "another way"));
  assert.equal((await root.search("another way"))[0].session, "t");
});

test("a graph with interrupts goes on in another process's saver", async () => {
  const place = directory();
  const build = () =>
    new StateGraph(State)
      .addNode("ask", () => ({ messages: [new AIMessage(interrupt("sure?"))], count: 1 }))
      .addEdge(START, "ask")
      .compile({ checkpointer: new EverturnSaver(place) });
  const paused = await build().invoke({ messages: [new HumanMessage("delete it")] }, CONFIG);
  assert.equal(paused.__interrupt__[0].value, "sure?");
  const done = await build().invoke(new Command({ resume: "yes" }), CONFIG);
  assert.deepEqual(done.messages.map((message) => message.content), ["delete it", "yes"]);
});

test("records are stored in the order of the calls", async () => {
  const place = directory();
  const saver = new EverturnSaver(place);
  const ids = range(0, 20).map((n) => String(n).padStart(3, "0"));
  const calls = ids.flatMap((id) => {
    const config = { configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: id } };
    const checkpoint = { ...emptyCheckpoint(), id, channel_values: { a: new Set([id]) }, channel_versions: { a: id } };
    return [saver.put(CONFIG, checkpoint, { source: "loop", step: 1, parents: {} }, { a: id }), saver.putWrites(config, [["a", id]], "task")];
  });
  // A read comes after the calls before it, too.
  assert.equal((await saver.getTuple(CONFIG)).checkpoint.id, "019");
  await Promise.all(calls);
  const records = fs.readFileSync(path.join(place, "threads/t/thread.jsonl"), "utf8").trim().split("\n").slice(1).map((line) => JSON.parse(line));
  assert.deepEqual(records.map((record) => record.checkpoint && typeof record.checkpoint === "string" ? record.checkpoint : record.id), ids.flatMap((id) => [id, id]));
});

test("the log does not grow with the square of the turns", async () => {
  const place = directory();
  const graph = chat(new EverturnSaver(place));
  const sizes = [];
  for (const turn of range(1, 81)) {
    await graph.invoke({ messages: [new HumanMessage("q".repeat(200))], profile: { bio: "x".repeat(5000) } }, CONFIG);
    if (turn === 40 || turn === 80) sizes.push(fs.statSync(path.join(place, "threads/t/thread.jsonl")).size);
  }
  assert.ok(sizes[1] < 2.5 * sizes[0], String(sizes));
});

test("a deleted thread is in the trash", async () => {
  const root = await Root.open(directory());
  const saver = new EverturnSaver(root);
  await chat(saver).invoke({ messages: [new HumanMessage("hello")] }, CONFIG);
  await saver.deleteThread("t");
  assert.equal(await saver.getTuple(CONFIG), undefined);
  assert.deepEqual(await collect(saver.list({})), []);
  await root.close();
});

test("the saver is the same for CommonJS", async () => {
  const require = createRequire(import.meta.url);
  const { EverturnSaver: Saver } = require("everturn/langgraph");
  const { BaseCheckpointSaver } = require("@langchain/langgraph-checkpoint");
  assert.ok(new Saver(directory()) instanceof BaseCheckpointSaver);
});

const PYTHON = process.env.EVERTURN_PYTHON;
const SCRIPT = `
import sys
from typing import Annotated, TypedDict
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from everturn.langgraph import EverturnSaver
class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    profile: dict
builder = StateGraph(State)
builder.add_node("answer", lambda state: {"messages": [AIMessage("python answers", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c"}])]})
builder.add_edge(START, "answer")
builder.add_edge("answer", END)
graph = builder.compile(checkpointer=EverturnSaver(sys.argv[1]))
config = {"configurable": {"thread_id": "t"}}
for message in graph.get_state(config).values.get("messages", []):
    print(type(message).__name__, message.content)
graph.invoke({"messages": [HumanMessage("python asks")], "profile": {"by": "python", "n": 1}}, config)
`;

test("a thread is continued by the Python package and back", { skip: !PYTHON }, async () => {
  const place = directory();
  const python = () => ended(spawn(PYTHON, ["-c", SCRIPT, place], { stdio: ["ignore", "pipe", "inherit"] }));
  const answer = () => ({ messages: [new AIMessage("node answers")] });
  const node = () =>
    new StateGraph(State).addNode("answer", answer).addEdge(START, "answer").addEdge("answer", END).compile({ checkpointer: new EverturnSaver(place) });
  assert.equal(await python(), "");
  const state = await node().getState(CONFIG);
  assert.deepEqual(state.values.profile, { by: "python", n: 1 });
  assert.deepEqual(state.values.messages.map((message) => [message.constructor.name, message.content]), [["HumanMessage", "python asks"], ["AIMessage", "python answers"]]);
  assert.deepEqual(state.values.messages[1].tool_calls, [{ name: "f", args: { x: 1 }, id: "c", type: "tool_call" }]);
  const done = await node().invoke({ messages: [new HumanMessage("node asks")] }, CONFIG);
  assert.equal(done.messages.length, 4);
  const lines = ["HumanMessage python asks", "AIMessage python answers", "HumanMessage node asks", "AIMessage node answers"];
  assert.equal(await python(), lines.map((line) => `${line}\n`).join(""));
  assert.equal((await node().getState(CONFIG)).values.messages.length, 6);
});
