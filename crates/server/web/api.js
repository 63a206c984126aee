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
/** @typedef {{ file: string, line: number | null, code: string, message: string, repair: string }} Finding */

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

export const api = {
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
