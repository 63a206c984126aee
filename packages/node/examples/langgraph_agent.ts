// A LangGraph agent that can be killed at any moment and continues where it was.
//
//     node langgraph_agent.js saves 10

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { EverturnSaver } from "everturn/langgraph";

/** Stands for a model. */
function answer(state: typeof MessagesAnnotation.State) {
  const question = state.messages.at(-1)?.content ?? "";
  return { messages: [new AIMessage(`answer to ${String(question)}`)] };
}

/** Asks `questions` more questions, or until the process is killed. Each is reported when its answer is durable. */
export async function talk(path: string, questions: number, report: (asked: number) => void): Promise<void> {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", answer)
    .addEdge(START, "answer")
    .addEdge("answer", END)
    .compile({ checkpointer: new EverturnSaver(path) });
  const config = { configurable: { thread_id: "demo" }, durability: "sync" as const };
  const state = await graph.getState(config);
  const messages: unknown[] = state.values["messages"] ?? [];
  // An interrupted run is finished first.
  if (state.next.length > 0) await graph.invoke(null, config);
  let asked = Math.ceil(messages.length / 2);
  const end = asked + questions;
  while (asked < end) {
    asked += 1;
    await graph.invoke({ messages: [new HumanMessage(`question ${asked}`)] }, config);
    report(asked);
  }
}

const [path, questions] = process.argv.slice(2);
if (path !== undefined) await talk(path, Number(questions ?? Infinity), (asked) => process.stdout.write(`${asked}\n`));
