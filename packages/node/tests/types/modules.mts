// Checked by the compiler and never run: the declarations as an ES module sees them.

import type { SessionStore } from "@anthropic-ai/claude-agent-sdk";
import { StateGraph, MessagesAnnotation } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { Session as AgentSession, SessionHistoryTransactionAwareSession } from "@openai/agents-core";
import { BadRequest, Busy, Game, Root, Session, Thread, type Entry, type EverturnError, type Hit } from "everturn";
import { EverturnSessionStore } from "everturn/claude-agent-sdk";
import { EverturnSaver } from "everturn/langgraph";
import { EverturnSession } from "everturn/openai-agents";

export async function use(): Promise<void> {
  await using root: Root = await Root.open("saves", { mode: "read_only", wait: 1.5 });
  const game: Game = await Game.openOrCreate(root, "demo", { title: "A title", theme: "x" });
  const stored = await game.append({ actor: "player" }, { key: "k", after: 1 });
  const turn: number = stored.turn;
  for await (const entry of game.entries(1, turn, { raw: true })) ((one: Entry) => one.text.length)(entry);
  const hits: Hit[] = await root.search("words", 5);
  const found: Session = await root.find("latest");
  if (found instanceof Thread) await found.sync();
  try {
    await found.close();
  } catch (error) {
    if (error instanceof Busy || error instanceof BadRequest) ((one: EverturnError) => [one.code, one.path, one.hint])(error);
  }
  // @ts-expect-error A root is opened, and not made.
  new Root("saves");
  // @ts-expect-error There is no such mode.
  await Root.open("saves", { mode: "write" });
  // @ts-expect-error A turn is an object.
  await game.append("text");
  const saver: BaseCheckpointSaver = new EverturnSaver(root);
  new StateGraph(MessagesAnnotation).compile({ checkpointer: saver });
  const store: SessionStore = new EverturnSessionStore("saves");
  const session: AgentSession & SessionHistoryTransactionAwareSession = new EverturnSession("id", root);
  void [hits, store, session];
}
