import adapter from "./lib/openai_agents.cjs";

export const { EverturnSession } = adapter;
