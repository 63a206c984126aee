// The published validation suite of LangGraph, run by vitest.

import { deltaChannelHistoryTests, specTest } from "@langchain/langgraph-checkpoint-validation";
import { EverturnSaver } from "everturn/langgraph";

import { directory } from "./support.mjs";

const initializer = { checkpointerName: "everturn", createCheckpointer: () => new EverturnSaver(directory()) };

specTest(initializer);
deltaChannelHistoryTests(initializer);
