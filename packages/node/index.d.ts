/** A value that JSON can hold. Integers that a number cannot hold are BigInts. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/** An object of docs/protocol.md. */
export type Fields = { [key: string]: any };

/** What was stored. `before` says that the same turn was sent before. */
export interface Stored extends Fields {
  turn: number;
  stored: "now" | "before";
}

/** A turn as text. */
export interface Entry extends Fields {
  seq: number;
  turn: number;
  id: string;
  time: string | null;
  speaker: string;
  kind: string;
  text: string;
}

/** A session in a list. */
export interface SessionSummary extends Fields {
  id: string;
  format: string;
  title: string | null;
  status: string;
  turns: number | null;
  path: string;
}

/** An entry that was found. */
export interface Hit extends Fields {
  session: string;
  format: string;
  turn: number;
  speaker: string;
  text: string;
}

export interface RootOptions {
  /** `create` makes the directory if it does not exist. */
  mode?: "create" | "open" | "read_only";
  /** How many seconds a write waits for another process; 5 if it is missing. */
  wait?: number;
}

/** A directory of sessions. Any number of processes and worker threads may have the same directory open. */
export declare class Root {
  private constructor();
  /** Opens a directory. */
  static open(path: string | URL, options?: RootOptions): Promise<Root>;
  /** The directory. */
  readonly path: string;
  /** The sessions of every format, most recently changed first. */
  sessions(): Promise<SessionSummary[]>;
  /** Searches all sessions, as docs/search.md describes. Returns hits, best match first. */
  search(query: string, limit?: number): Promise<Hit[]>;
  /** Opens a session of any format by its ID, its path below the root, or `latest`. */
  find(name: string): Promise<Session>;
  /** Moves a session to the trash, and returns its name there. */
  trash(name: string): Promise<string>;
  /** Restores a session from the trash, and returns its ID. */
  restore(name: string): Promise<string>;
  /** A thread of an agent framework, for adapters. It need not exist. */
  thread(key: string): ThreadLog;
  /** The keys of all threads. */
  threadKeys(): Promise<string[]>;
  /** Atomic commits of plain files below a directory, for adapters. */
  files(dir: string): Files;
  /** Closes the root. Sessions that are open stay usable until they are closed. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A session of any format.
 *
 * The first write locks the session for this process, until `sync` or `close`. Calls take effect in the order in which they
 * are made. Answers are those of docs/protocol.md.
 */
export declare class Session {
  protected constructor();
  /** Creates a session. Without an ID, it gets one. Members other than `title` are fields of the format. */
  static create<S extends Session>(this: SessionClass<S>, root: Root, id?: string, fields?: NewSession): Promise<S>;
  /** Opens a session by its ID, its path below the root, or `latest`. */
  static open<S extends Session>(this: SessionClass<S>, root: Root, name: string): Promise<S>;
  /** Opens a session, and creates it if it does not exist. */
  static openOrCreate<S extends Session>(this: SessionClass<S>, root: Root, id: string, fields?: NewSession): Promise<S>;
  /** Its ID. */
  readonly id: string;
  /** The name of its format. */
  readonly format: string;
  /** Serves a request of docs/protocol.md, such as `scene_start` or `mark_add`. */
  request(request: string, fields?: Fields): Promise<any>;
  /**
   * Appends a turn. When the promise is fulfilled, the turn survives a crash of the program and a power cut.
   *
   * A turn that is sent again with the same `key` is stored once. `after` is the turn that must be the last one.
   */
  append(turn: Fields, options?: { key?: string; after?: number }): Promise<Stored>;
  /** The entries of a range of turns, in order. With `raw`, each has the stored record. */
  entries(first?: number, last?: number, options?: { raw?: boolean }): AsyncGenerator<Entry, void, undefined>;
  [Symbol.asyncIterator](): AsyncGenerator<Entry, void, undefined>;
  /** The state after a turn, or a value in it, such as `world.npcs.luna.trust`. */
  state(turn?: number, options?: { path?: string | readonly string[] }): Promise<any>;
  /** The changes of the state between two turns. */
  diff(first: number, last?: number, options?: { scope?: string }): Promise<Fields[]>;
  /** Undoes the last turns with a new turn. */
  undo(turns?: number): Promise<Fields>;
  /** Rewinds to a turn. Everything so far becomes a branch. */
  rewind(turn: number): Promise<Fields>;
  /** Creates a session from the turns of this one. */
  fork(id?: string, options?: { turn?: number }): Promise<Fields>;
  /** Adds a mark. */
  mark(name: string, options?: { turn?: number; kind?: string }): Promise<Fields>;
  /** The marks. */
  marks(): Promise<Fields[]>;
  /** The branches in the session, and the sessions that were forked from it. */
  branches(): Promise<Fields>;
  /** What is known about the session. */
  info(): Promise<Fields>;
  /** Writes pending derived data, and releases the lock until the next write. */
  sync(): Promise<void>;
  /** Writes pending derived data and releases the lock. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface NewSession extends Fields {
  title?: string;
}

type SessionClass<S extends Session> = { prototype: S };

/** A game: turns, changes of a state, snapshots, scenes. See docs/game.md. */
export declare class Game extends Session {}

/** A tabletop campaign. See docs/campaign.md. */
export declare class Campaign extends Session {}

/** A chat log. See docs/chatlog.md. */
export declare class ChatLog extends Session {}

/** A thread of an agent framework. See docs/thread.md. */
export declare class Thread extends Session {}

/** The log of a thread, for adapters. It is locked by the first write, and released when it is idle. See docs/thread.md. */
export interface ThreadLog {
  readonly key: string;
  /** Appends records in one commit. A thread that does not exist is created with `header`. */
  append(records: readonly Fields[], header?: Fields): Promise<void>;
  exists(): Promise<boolean>;
  items(): Promise<Fields[]>;
  /** The checkpoints without their values. */
  checkpoints(namespace?: string): Promise<Fields[]>;
  /** A checkpoint with its values and writes: the one with this ID, or the one with the greatest. */
  checkpoint(namespace?: string, id?: string): Promise<{ record: Fields; values: Fields; writes: Fields[] } | undefined>;
  missingVersions(namespace: string, versions: Fields): Promise<string[]>;
  /** Removes checkpoints, given as pairs of namespace and ID, with their writes. */
  removeCheckpoints(places: ReadonlyArray<readonly [namespace: string, id: string]>): Promise<number>;
  /** Keeps the first items, removes the others, and appends records, in one commit. Returns the removed items. */
  replaceItems(keep: number, records: readonly Fields[]): Promise<Fields[]>;
  popItem(): Promise<Fields | undefined>;
  clearItems(): Promise<void>;
  copyTo(key: string): Promise<boolean>;
  /** Moves the thread to the trash, and returns its name there. */
  trash(): Promise<string | undefined>;
  release(): Promise<void>;
}

/** Files below a directory, for adapters. They are locked by the first commit, and released when they are idle. */
export interface Files {
  readonly dir: string;
  /** The content of a file; undefined if it does not exist. */
  read(file: string): Promise<string | undefined>;
  /** The names in a directory, with a `/` after those of directories. */
  list(dir: string): Promise<string[]>;
  /** Applies all changes or none. */
  commit(changes: readonly FileChange[]): Promise<void>;
  release(): Promise<void>;
}

/** A change of a file. Without `expected`, a file that is replaced must not exist. */
export type FileChange =
  | { kind: "append"; file: string; text: string }
  | { kind: "replace"; file: string; text: string; expected?: string }
  | { kind: "remove"; file: string };

/** Why something could not be done. After an error nothing has changed, unless it is `Reopen`. */
export declare class EverturnError extends Error {
  constructor(message: string, code: string, path?: string, hint?: string, options?: { cause?: unknown });
  /** The stable code of docs/protocol.md, such as `busy` or `bad_request`. */
  readonly code: string;
  /** The file, field or path in the state that it is about. */
  readonly path?: string;
  /** What to do next. */
  readonly hint?: string;
}

/** Another process writes to the session: try again later. */
export declare class Busy extends EverturnError {}

/** There is no such session, turn or value. */
export declare class NotFound extends EverturnError {}

/** The request itself is wrong, or the format does not support it. */
export declare class BadRequest extends EverturnError {}

/** The request contradicts what is stored, or the ID is taken. */
export declare class Conflict extends EverturnError {}

/** Stored data are damaged: run `everturn check` and `everturn repair`. */
export declare class Damaged extends EverturnError {}

/** A flush has failed, and the outcome is unknown: open the root again. */
export declare class Reopen extends EverturnError {}

/** The disk failed, or is full. */
export declare class IoFailed extends EverturnError {}
