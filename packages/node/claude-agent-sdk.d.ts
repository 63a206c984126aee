import type {
  SessionKey,
  SessionStore,
  SessionStoreEntry,
  SessionSummaryEntry,
} from "@anthropic-ai/claude-agent-sdk" with { "resolution-mode": "import" };
import type { Root } from "everturn";

/**
 * Stores transcripts in `projects/<project>/<session>.jsonl` of a root, and subagents below `<session>/`.
 *
 * A batch of entries is stored as a whole, and is durable when `append` returns. An entry whose `uuid` is stored already is
 * not stored again, also when several processes append.
 */
export declare class EverturnSessionStore implements SessionStore {
  /** A directory is opened at the first call. */
  constructor(root: Root | string);
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>;
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>;
  listSessions(projectKey: string): Promise<Array<{ sessionId: string; mtime: number }>>;
  listSessionSummaries(projectKey: string): Promise<SessionSummaryEntry[]>;
  /** Removes a session with its subagents, or one transcript of a subagent. */
  delete(key: SessionKey): Promise<void>;
  listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]>;
}
