// Checked by the compiler and never run: the declarations as a CommonJS module sees them.

import checkpoint = require("@langchain/langgraph-checkpoint");
import everturn = require("everturn");
import claude = require("everturn/claude-agent-sdk");
import langgraph = require("everturn/langgraph");
import openai = require("everturn/openai-agents");

export async function use(): Promise<void> {
  const root: everturn.Root = await everturn.Root.open("saves");
  const chat: everturn.ChatLog = await everturn.ChatLog.create(root, "tale");
  await chat.append({ type: "npc", name: "Mara", text: "Hello." });
  const saver: checkpoint.BaseCheckpointSaver = new langgraph.EverturnSaver("saves");
  const entries: number = (await new claude.EverturnSessionStore(root).load({ projectKey: "p", sessionId: "s" }))?.length ?? 0;
  const items = await new openai.EverturnSession("id", root).getItems();
  void [saver, entries, items];
}
