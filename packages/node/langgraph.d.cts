import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
  type SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { Root } from "everturn";

/**
 * Stores the checkpoints of each thread in `threads/<id>/thread.jsonl` of a root.
 *
 * A checkpoint is durable when `put` returns. A channel that has not changed is not stored again, and a list that has grown
 * is stored as what was added. With a serializer of your own, such as one that encrypts, every value passes through it.
 */
export declare class EverturnSaver extends BaseCheckpointSaver {
  /** A directory is opened at the first call. */
  constructor(root: Root | string, options?: { serde?: SerializerProtocol });
  getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined>;
  list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple>;
  put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig>;
  putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void>;
  /** Moves the thread to the trash of the root. `everturn restore` brings it back, `everturn purge` deletes it. */
  deleteThread(threadId: string): Promise<void>;
}
