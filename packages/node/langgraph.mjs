import * as messages from "@langchain/core/messages";
import * as checkpoint from "@langchain/langgraph-checkpoint";

import saver from "./lib/langgraph.cjs";

export const EverturnSaver = saver.makeSaver(checkpoint, messages);
