// Calls to `/api/v1`. Everything that the app knows comes from here.

/** @typedef {{ value: string, count: number }} FacetValue */
/**
 * @typedef {object} Session
 * @property {string} key
 * @property {string} id
 * @property {string} source
 * @property {string} format
 * @property {string} title
 * @property {string} status
 * @property {string | null} created
 * @property {string | null} updated
 * @property {number | null} turns
 * @property {string | null} parent
 * @property {string | null} project
 * @property {boolean} writable
 * @property {boolean} pinned
 * @property {number} problems
 */
/**
 * @typedef {object} SessionPage
 * @property {Session[]} sessions
 * @property {string | null} next
 * @property {number} total
 * @property {Record<'format' | 'source' | 'status' | 'project', FacetValue[]>} facets
 * @property {string[]} warnings
 */
/**
 * @typedef {object} Entry
 * @property {number} seq
 * @property {number} turn
 * @property {string} id
 * @property {string | null} time
 * @property {string} speaker
 * @property {string} kind
 * @property {string} text
 * @property {any} [raw]
 */
/** @typedef {{ id: string, kind: string, name: string, description: string, turn: number }} Mark */
/** @typedef {{ id: string, from: number | null, turns: number, updated: string | null, title: string }} Branch */
/** @typedef {import('./state_tree.js').Change} Change */
/**
 * @typedef {object} Hit
 * @property {string} key
 * @property {string} title
 * @property {number} turn
 * @property {string | null} time
 * @property {string} speaker
 * @property {string} kind
 * @property {string} snippet
 * @property {{ start: number, end: number }[]} highlights
 */
/**
 * @typedef {object} Usage
 * @property {string} group
 * @property {number} sessions
 * @property {number} answers
 * @property {number} input
 * @property {number} output
 * @property {number} cache_read
 * @property {number | null} cost
 */
/** @typedef {{ file: string, line: number | null, code: string, message: string, repair: string, severity: string }} Finding */
/** @typedef {{ turn: number, seq: number, number: number, kind: string, description: string, media: string | null }} Attachment */
/** @typedef {{ turn: number, path: string, op: string, value: unknown, previous: unknown }} FoundChange */
/** @typedef {{ session: string, branch: string | null, id: string, title: string, status: string, updated: string | null, parent: number | null, from: number, turns: number, current: boolean }} GraphNode */
/**
 * @typedef {object} Comparison
 * @property {{ key: string, title: string, turns: number }} left
 * @property {{ key: string, title: string, turns: number }} right
 * @property {number} common
 * @property {{ turn: number, same: boolean, left: Entry[], right: Entry[] }[]} turns
 * @property {number | null} next
 * @property {{ path: string[], left?: unknown, right?: unknown }[]} state
 * @property {boolean} more
 */
/**
 * @typedef {object} Table
 * @property {number} turn
 * @property {string} narrator
 * @property {{ id: string, hp: number | null, state: string, area: string | null, items: { name: string, count: number }[], active: boolean }[]} party
 * @property {{ id: string, name: string, roads: string[], visited: boolean }[]} areas
 * @property {string | null} goal
 * @property {string | null} milestone
 * @property {string | null} ended
 * @property {{ line: string, text: string }[]} versions
 * @property {number | null} version
 */
/** @typedef {{ turn: number, text: string, notes: string[], ended: string | null }} PlayAnswer */
/** @typedef {{ key: string | null, id: string, format: string, active: string | null, bytes: number, pinned: boolean, expires: boolean, why: string[] }} Expiry */
/** @typedef {{ name: string, source: string, format: string, id: string, time: string, bytes: number }} Trashed */
/** @typedef {{ steps: { file: string, action: string }[], findings: Finding[], originals: string | null }} Repair */

/** A request that failed. Its code is one of the line protocol. */
export class Problem extends Error {
  /**
   * @param {number} status
   * @param {{ code?: string, detail?: string, hint?: string }} body
   */
  constructor(status, body) {
    super(body.detail ?? `the server answered with status ${status}`);
    this.status = status;
    this.code = body.code ?? 'unknown';
    this.hint = body.hint ?? null;
  }
}

/**
 * @param {unknown} error
 * @returns {string}
 */
export function explain(error) {
  if (error instanceof Problem) return error.hint ? `${error.message}. ${error.hint}` : error.message;
  if (error instanceof TypeError) return 'The server cannot be reached. Is everturn serve still running?';
  return String(error);
}

/**
 * @param {Record<string, string | number | boolean | null | undefined>} [query]
 * @returns {string}
 */
function queryText(query) {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const text = new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
  return text ? `?${text}` : '';
}

/**
 * @param {string} method
 * @param {string} path
 * @param {{ query?: Record<string, any>, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal }} [options]
 * @returns {Promise<any>}
 */
async function call(method, path, options = {}) {
  /** @type {Record<string, string>} */
  const headers = { ...options.headers };
  if (options.body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(`/api/v1${path}${queryText(options.query)}`, {
    method, headers, signal: options.signal ?? null,
    body: options.body === undefined ? null : JSON.stringify(options.body),
  });
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Problem(response.status, body);
  return body;
}

/** @param {string} key */
const at = key => `/sessions/${encodeURIComponent(key)}`;

/**
 * The turn that must be the last one.
 *
 * @param {number | null} turn
 * @returns {Record<string, string>}
 */
const ifMatch = turn => (turn === null ? {} : { 'if-match': `"${turn}"` });

/**
 * Plays a turn; `told` gets the narrator's text so far, each time from its beginning.
 *
 * @param {string} key
 * @param {object} body
 * @param {number | null} after
 * @param {string | null} id An idempotency key.
 * @param {(text: string) => void} told
 * @returns {Promise<PlayAnswer>}
 */
async function playStream(key, body, after, id, told) {
  const response = await fetch(`/api/v1${at(key)}/play/stream`, {
    method: 'POST', headers: { 'content-type': 'application/json', ...(id ? { 'idempotency-key': id } : ifMatch(after)) }, body: JSON.stringify(body),
  });
  if (!response.ok || !response.body) throw new Problem(response.status, await response.json().catch(() => ({})));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new TypeError('the answer ended early');
    const parts = (rest + value).split('\n\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const name = /^event: (.*)$/m.exec(part)?.[1];
      const data = JSON.parse(/^data: (.*)$/m.exec(part)?.[1] ?? '{}');
      if (name === 'text') told(data.text);
      if (name === 'turn') return data;
      if (name === 'problem') throw new Problem(data.status, data);
    }
  }
}

export const api = {
  /** @returns {Promise<{ version: string, writable: boolean, sources: { name: string, main: boolean, readable: boolean }[] }>} */
  server: () => call('GET', ''),
  /** @param {object} body @returns {Promise<Session>} */
  create: body => call('POST', '/sessions', { body }),
  /** @param {string} key @returns {Promise<{ state: boolean, history: boolean, marks: boolean, branches: boolean }>} */
  abilities: key => call('GET', `${at(key)}/abilities`),
  /** @param {string} key @param {string} title */
  rename: (key, title) => call('PUT', `${at(key)}/title`, { body: { title } }),
  /** @param {string} key @param {'pause' | 'resume' | 'complete' | 'archive' | 'unarchive' | 'snapshot'} stage */
  change: (key, stage) => call('POST', `${at(key)}/${stage}`, { body: {} }),
  /** @param {string} key @param {number} from @param {number} to @returns {Promise<{ attachments: Attachment[] }>} */
  attachments: (key, from, to) => call('GET', `${at(key)}/attachments`, { query: { from, to } }),
  /** @param {string} key @param {Record<string, any>} query @returns {Promise<{ changes: FoundChange[], more: boolean }>} */
  changes: (key, query) => call('GET', `${at(key)}/changes`, { query }),
  /** @param {string} key @returns {Promise<{ nodes: GraphNode[], more: boolean, warnings: string[] }>} */
  graph: key => call('GET', `${at(key)}/graph`),
  /** @param {Record<string, any>} query @returns {Promise<Comparison>} */
  compare: query => call('GET', '/compare', { query }),
  /** @param {string} key @returns {Promise<Table>} */
  table: key => call('GET', `${at(key)}/table`),
  /** @param {string} key @param {object} body @returns {Promise<PlayAnswer>} */
  play: (key, body) => call('POST', `${at(key)}/play`, { body }),
  playStream,
  /** @param {string} key @param {object} body @param {number | null} after */
  revise: (key, body, after) => call('POST', `${at(key)}/revise`, { body, headers: ifMatch(after) }),
  /** @param {string} key @returns {Promise<{ usage: Usage | null, models: string[] }>} */
  usage: key => call('GET', `${at(key)}/usage`),
  /** @param {string} key @param {number} from @param {number} to @returns {Promise<{ turns: any[], marks: Mark[], next: number | null }>} */
  timeline: (key, from, to) => call('GET', `${at(key)}/timeline`, { query: { from, to, limit: 1000 } }),
  /** @param {string} key @param {number} tokens @returns {Promise<{ from: number | null, to: number | null, tokens: number, left_out: number, text: string }>} */
  context: (key, tokens) => call('GET', `${at(key)}/context`, { query: { tokens } }),
  /** @returns {Promise<{ sessions: Trashed[], warnings: string[] }>} */
  trashed: () => call('GET', '/trash'),
  /** @param {string} name */
  restore: name => call('POST', `/trash/${encodeURIComponent(name)}/restore`, { body: {} }),
  /** @param {Record<string, any>} query @returns {Promise<{ sessions: Expiry[], expired: number, bytes: number }>} */
  retention: query => call('GET', '/retention', { query }),
  /** @param {object} body @returns {Promise<{ sessions: { id: string, trashed: string | null, note: string | null }[] }>} */
  expire: body => call('POST', '/retention', { body }),
  /** @param {string} key @returns {Promise<Repair>} */
  repairPlan: key => call('GET', `${at(key)}/repair`),
  /** @param {string} key @returns {Promise<Repair>} */
  repair: key => call('POST', `${at(key)}/repair`, { body: {} }),
  /** @param {string} key @returns {Promise<Repair>} */
  repairUndo: key => call('POST', `${at(key)}/repair/undo`, { body: {} }),
  /** @param {string} key @returns {Promise<{ secrets: { turn: number, seq: number, family: string, certainty: string }[], more: boolean }>} */
  scan: key => call('GET', `${at(key)}/scan`),
  /** @param {Record<string, any>} query @param {AbortSignal} [signal] @returns {Promise<SessionPage>} */
  sessions: (query, signal) => call('GET', '/sessions', { query, ...(signal && { signal }) }),
  /** @param {string} key @returns {Promise<Session & { keys: boolean }>} */
  session: key => call('GET', at(key)),
  /** @param {string} key @param {Record<string, any>} query @returns {Promise<{ entries: Entry[], next: string | null }>} */
  entries: (key, query) => call('GET', `${at(key)}/entries`, { query }),
  /** @param {string} key @param {number} turn @param {AbortSignal} [signal] @returns {Promise<{ turn: number, state: any }>} */
  state: (key, turn, signal) => call('GET', `${at(key)}/state`, { query: { turn }, ...(signal && { signal }) }),
  /** @param {string} key @param {number} from @param {number} to @param {AbortSignal} [signal] @returns {Promise<{ changes: Change[] }>} */
  diff: (key, from, to, signal) => call('GET', `${at(key)}/diff`, { query: { from, to }, ...(signal && { signal }) }),
  /** @param {string} key @returns {Promise<{ branches: Branch[], forks: string[] }>} */
  branches: key => call('GET', `${at(key)}/branches`),
  /** @param {string} key @returns {Promise<{ marks: Mark[] }>} */
  marks: key => call('GET', `${at(key)}/marks`),
  /** @param {string} key @param {object} data @param {number | null} after @param {string | null} id */
  append: (key, data, after, id) => call('POST', `${at(key)}/append`, {
    body: { data }, headers: id ? { ...ifMatch(after), 'idempotency-key': id } : ifMatch(after),
  }),
  /** @param {string} key @param {number} after */
  undo: (key, after) => call('POST', `${at(key)}/undo`, { body: { turns: 1 }, headers: ifMatch(after) }),
  /** @param {string} key @param {number} turn @param {number} after @returns {Promise<{ turn: number, branch: string }>} */
  rewind: (key, turn, after) => call('POST', `${at(key)}/rewind`, { body: { turn }, headers: ifMatch(after) }),
  /** @param {string} key @param {number} turn @returns {Promise<{ session: string, turn: number }>} */
  fork: (key, turn) => call('POST', `${at(key)}/fork`, { body: { turn } }),
  /** @param {string} key @param {string} name @param {number} turn */
  mark: (key, name, turn) => call('POST', `${at(key)}/marks`, { body: { name, turn } }),
  /** @param {string} key @param {string} id */
  unmark: (key, id) => call('DELETE', `${at(key)}/marks/${encodeURIComponent(id)}`, { body: {} }),
  /** @param {Record<string, any>} query @param {AbortSignal} signal @returns {Promise<{ hits: Hit[], more: boolean, similar: boolean, warnings: string[] }>} */
  search: (query, signal) => call('GET', '/search', { query, signal }),
  /** @param {string} by @returns {Promise<{ sessions: number, recorded: number, groups: Usage[], warnings: string[] }>} */
  stats: by => call('GET', '/stats', { query: { by } }),
  /** @param {string} key @returns {Promise<{ files: number, records: number, findings: Finding[], more: boolean }>} */
  check: key => call('GET', `${at(key)}/check`),
  /** @param {string} key @returns {Promise<{ trashed: string | null }>} */
  trash: key => call('POST', `${at(key)}/trash`, { body: {} }),
  /** @param {string} key @param {boolean} pinned */
  pin: (key, pinned) => call(pinned ? 'PUT' : 'DELETE', `${at(key)}/pin`, { body: {} }),
};
