import adapter from "./lib/claude_agent_sdk.cjs";

export const { EverturnSessionStore } = adapter;
