import type {
  AgentInputItem,
  Session,
  SessionHistoryRewriteArgs,
  SessionHistoryRewriteAwareSession,
  SessionHistoryTransactionArgs,
  SessionHistoryTransactionAwareSession,
} from "@openai/agents-core";
import type { Root } from "everturn";

/**
 * Stores the items of a conversation in `threads/<id>/thread.jsonl` of a root.
 *
 * Every change is stored as a whole or not at all, and is durable when its promise is fulfilled. Sessions with the same ID and
 * root share their items.
 */
export declare class EverturnSession
  implements Session, SessionHistoryRewriteAwareSession, SessionHistoryTransactionAwareSession
{
  /** A directory is opened at the first call. */
  constructor(sessionId: string, root: Root | string);
  getSessionId(): Promise<string>;
  /** The items in order; with a limit, the last ones. */
  getItems(limit?: number): Promise<AgentInputItem[]>;
  addItems(items: AgentInputItem[]): Promise<void>;
  popItem(): Promise<AgentInputItem | undefined>;
  /** Removes all items, and the IDs of operations. */
  clearSession(): Promise<void>;
  /** Replaces all items in one commit. */
  replaceHistoryWithCompaction(items: AgentInputItem[]): Promise<void>;
  applyHistoryMutations(args: SessionHistoryRewriteArgs): Promise<void>;
  /** Applies a change once for each operation ID. Fails with `Conflict` if the ID or the last items do not match. */
  applyHistoryTransaction(args: SessionHistoryTransactionArgs): Promise<void>;
  /** Releases the lock, so that another process can write at once. It is also released when it is idle. */
  close(): Promise<void>;
}
