// The list of sessions: facets, a filter and a search as you type, columns, marks of what is new, and actions on several
// sessions at once.

import { api, explain, Problem } from './api.js';
import { announce, count, debounce, fill, h, timeElement } from './dom.js';
import { newSessionDialog } from './new_session.js';
import { confirmDialog, promptDialog, setCommands } from './keys.js';
import { sessionLink } from './links.js';
import { marked } from './search_view.js';
import { isNew, saw } from './seen.js';
import { RowWindow } from './window_list.js';

const PAGE = 500;
const FACETS = /** @type {const} */ (['format', 'project', 'status', 'source']);
const SORTS = { updated: 'Last changed', created: 'Newest', title: 'By title', turns: 'Longest' };
const PERIODS = { '': 'Any time', '1d': 'Last day', '1w': 'Last week', '30d': 'Last 30 days', '365d': 'Last year' };
/** How many usages are asked for at a time. */
const ASKED = 4;

/** @typedef {{ tokens: number, cost: number | null, model: string }} Spent */
/** What sessions have used, by key and time of change; `null` if they do not say. @type {Map<string, Spent | null>} */
const spent = new Map();

/** @param {import('./api.js').Session} session */
const spentKey = session => `${session.key}|${session.updated}`;

/** @param {number} value */
const small = value => (value >= 1e6 ? `${(value / 1e6).toFixed(1)}M` : value >= 1e3 ? `${Math.round(value / 1e3)}k` : String(value));

/**
 * @param {HTMLElement} main
 * @param {(key: string) => void} open Opens a session.
 * @returns {{ refresh: () => void, close: () => void }}
 */
export function showSessions(main, open) {
  /** @type {Record<string, string>} */
  const filter = { sort: 'updated' };
  /** @type {import('./api.js').Session[]} */
  let rows = [];
  /** @type {string | null} */
  let next = null;
  let loading = false;
  let closed = false;
  let request = new AbortController();
  /** @type {Set<string>} */
  const chosen = new Set();
  /** @type {import('./api.js').Session[]} */
  let asked = [];
  let asking = 0;

  const search = h('input', {
    type: 'search', placeholder: 'Filter, or search in all texts', 'aria-label': 'Filter sessions', autocomplete: 'off',
    oninput: debounce(120, () => { filter.text = search.value; reload(); showHits(); }),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'ArrowDown') { event.preventDefault(); list.element.focus(); }
    },
  });
  const selects = FACETS.map(name => h('select', {
    'aria-label': name, onchange: (/** @type {Event} */ event) => choose(name, event),
  }));
  const period = h('select', { 'aria-label': 'changed', onchange: (/** @type {Event} */ event) => choose('since', event) },
    ...Object.entries(PERIODS).map(([value, name]) => h('option', { value }, name)));
  const sort = h('select', { 'aria-label': 'order', onchange: (/** @type {Event} */ event) => choose('sort', event) },
    ...Object.entries(SORTS).map(([value, name]) => h('option', { value }, name)));
  const summary = h('p', { class: 'summary', role: 'status' });
  const selection = h('div', { class: 'selection', hidden: true, role: 'group', 'aria-label': 'Selected sessions' });
  const hits = h('ol', { class: 'hits top-hits', hidden: true, 'aria-label': 'Hits in texts' });
  const list = new RowWindow({
    label: 'Sessions', rowHeight: 58,
    render: row,
    open: index => { const session = rows[index]; if (session) { saw(session); open(session.key); } },
    toggle: index => { const session = rows[index]; if (session) toggle(session); },
    nearEnd: () => { if (next && !loading) load(); },
  });
  const empty = h('div', { class: 'empty', hidden: true });
  fill(main, h('section', { class: 'sessions' },
    h('h1', { class: 'sr' }, 'Sessions'),
    h('div', { class: 'filters', role: 'search' }, search, ...selects, period, sort,
      h('button', { type: 'button', class: 'primary', onclick: () => create() }, 'New')),
    h('div', { class: 'above' }, summary, selection, hits), list.element, empty));

  setCommands('view', [
    { name: 'Filter sessions', key: '/', run: () => search.focus() },
    { name: 'New session', key: 'n', run: () => create() },
    { name: 'Select or unselect the session', key: 'x', run: () => { const one = rows[list.selected]; if (one) toggle(one); } },
    { name: 'Rename the session', key: 'e', run: () => rename() },
    { name: 'Pin or unpin the session', key: 'p', run: () => togglePin() },
    { name: 'Move the selected sessions to the trash', key: 'Delete', run: () => trash() },
    { name: 'Compare two selected sessions', key: 'c', run: () => compareChosen() },
    { name: 'Mark all sessions as read', run: () => { rows.forEach(saw); list.draw(); } },
    { name: 'Only pinned sessions, or all', run: () => { filter.pinned = filter.pinned ? '' : 'true'; reload(); } },
  ]);

  /** @param {string} name @param {Event} event */
  function choose(name, event) {
    filter[name] = /** @type {HTMLSelectElement} */ (event.target).value;
    reload();
  }

  /** @param {import('./api.js').Session} session */
  function row(session) {
    const unread = isNew(session);
    const used = spent.get(spentKey(session));
    if (used === undefined) ask(session);
    return h('div', { class: `${unread ? 'unread' : ''} ${chosen.has(session.key) ? 'chosen' : ''}` },
      h('div', { class: 'main-cell' },
        h('div', { class: 'title', dir: 'auto' },
          chosen.has(session.key) ? h('span', { class: 'tick', 'aria-label': 'selected' }, '✓ ') : null,
          unread ? h('span', { class: 'dot', title: 'new since you last looked' }, '● ') : null,
          session.pinned ? h('span', { title: 'pinned' }, '★ ') : null, session.title || session.id),
        h('div', { class: 'where', dir: 'auto' }, session.parent ? '⑂ ' : '', session.project ?? session.id,
          used?.model ? h('span', { class: 'model' }, ` · ${used.model}`) : null)),
      h('span', { class: 'hide-small' }, h('span', { class: 'badge' }, session.format),
        session.status !== 'active' ? h('span', { class: 'badge status' }, session.status) : null),
      h('span', { class: 'right hide-small' }, count(session.turns), h('span', { class: 'unit' }, session.turns === 1 ? ' turn' : ' turns')),
      h('span', { class: 'right hide-small dim' }, used ? `${small(used.tokens)} tok` : '',
        used && used.cost !== null ? h('span', { class: 'cost' }, `$${used.cost.toFixed(2)}`) : null),
      h('span', { class: 'right dim' }, session.problems > 0 ? h('a', { href: `#/check/${encodeURIComponent(session.key)}`, title: 'has findings', 'aria-label': 'has findings', tabIndex: -1, onclick: (/** @type {Event} */ event) => event.stopPropagation() }, '⚠ ') : null,
        timeElement(session.updated)));
  }

  /** Asks for the usage of a row that is seen. @param {import('./api.js').Session} session */
  function ask(session) {
    if (asked.some(each => each.key === session.key)) return;
    // Those that were seen last are asked for first, and those long gone are not.
    asked = [session, ...asked].slice(0, 60);
    pump();
  }

  async function pump() {
    while (asking < ASKED && asked.length > 0 && !closed) {
      const session = /** @type {import('./api.js').Session} */ (asked.shift());
      asking += 1;
      api.usage(session.key).then(({ usage, models }) => {
        if (spent.size > 50_000) spent.clear();
        spent.set(spentKey(session), usage ? { tokens: usage.input + usage.output + usage.cache_read, cost: usage.cost, model: models[0] ?? '' } : null);
      }, () => spent.set(spentKey(session), null)).finally(() => { asking -= 1; redraw(); pump(); });
    }
  }
  const redraw = debounce(80, () => { if (!closed) list.draw(); });

  /** @param {import('./api.js').Session} session */
  function toggle(session) {
    if (!chosen.delete(session.key)) chosen.add(session.key);
    showSelection();
    list.draw();
  }

  function showSelection() {
    selection.hidden = chosen.size === 0;
    fill(selection, h('strong', null, `${chosen.size} selected`),
      h('button', { type: 'button', onclick: () => trash() }, 'Move to the trash'),
      h('button', { type: 'button', onclick: () => pinAll(true) }, 'Pin'),
      h('button', { type: 'button', onclick: () => pinAll(false) }, 'Unpin'),
      chosen.size === 2 ? h('button', { type: 'button', onclick: () => compareChosen() }, 'Compare') : null,
      h('button', { type: 'button', onclick: () => { chosen.clear(); showSelection(); list.draw(); } }, 'Clear'));
  }

  function compareChosen() {
    if (chosen.size !== 2) { announce('Select two sessions first: x selects one.'); return; }
    location.hash = `#/compare/${[...chosen].map(encodeURIComponent).join('/')}`;
  }

  const showHits = debounce(200, async () => {
    const q = search.value.trim();
    if (q.length < 2) { hits.hidden = true; return; }
    const { signal } = request;
    try {
      const found = await api.search({ q, prefix: true, limit: 5 }, signal);
      if (closed || signal.aborted || search.value.trim() !== q) return;
      hits.hidden = found.hits.length === 0;
      fill(hits, ...found.hits.map(hit => h('li', null,
        h('a', { href: sessionLink(hit.key, hit.turn), dir: 'auto' }, hit.title || hit.key, ` #${hit.turn}`), ' ',
        h('span', { dir: 'auto' }, ...marked(hit)))),
      found.more || found.hits.length === 5 ? h('li', null, h('a', { href: `#/search/${encodeURIComponent(q)}` }, 'All hits')) : null);
    } catch { hits.hidden = true; }
  });

  /** @param {import('./api.js').SessionPage} page */
  function showFacets(page) {
    selects.forEach((select, index) => {
      const name = FACETS[index];
      const values = page.facets[name];
      const value = filter[name] ?? '';
      fill(select, h('option', { value: '' }, `Any ${name}`), ...values.map(each =>
        h('option', { value: each.value, selected: each.value === value }, `${each.value} (${each.count})`)));
      if (value && !values.some(each => each.value === value)) select.append(h('option', { value, selected: true }, value));
      select.hidden = values.length < 2 && !value;
    });
  }

  /** @param {boolean} [fresh] */
  async function load(fresh = false) {
    if (fresh) { request.abort(); request = new AbortController(); }
    loading = true;
    const { signal } = request;
    try {
      const page = await api.sessions({ ...filter, limit: PAGE, cursor: fresh ? null : next }, signal);
      if (closed || signal.aborted) return;
      rows = fresh ? page.sessions : [...rows, ...page.sessions];
      next = page.next;
      if (fresh) showFacets(page);
      const unread = page.warnings.length > 0 ? `; ${page.warnings.length} places could not be read` : '';
      summary.textContent = `${count(page.total)} ${page.total === 1 ? 'session' : 'sessions'}${unread}`;
      summary.title = page.warnings.join('\n');
      empty.hidden = page.total > 0;
      list.element.hidden = page.total === 0;
      if (page.total === 0) showEmpty();
      list.setRows(rows);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && error.status === 401) {
        list.element.hidden = true;
        empty.hidden = false;
        fill(empty, h('p', null, 'Open the URL that everturn serve has printed. A new one is printed with each start.'));
      } else announce(explain(error), 'error');
    } finally {
      if (!signal.aborted) loading = false;
    }
  }

  function showEmpty() {
    const filtered = Object.entries(filter).some(([name, value]) => value && name !== 'sort');
    fill(empty, ...(filtered
      ? [h('p', null, 'No session matches. ', h('button', { onclick: clear }, 'Clear the filters'))]
      : [h('h2', null, 'No sessions yet'),
        h('p', null, 'Everturn shows the sessions of the agents on this machine, and games and chats of its own.'),
        h('p', null, h('button', { class: 'primary', onclick: () => create() }, 'Start one here'), ' or in a terminal: ', h('code', null, 'everturn play'))]));
  }

  function clear() {
    for (const name of Object.keys(filter)) delete filter[name];
    filter.sort = sort.value;
    search.value = '';
    period.value = '';
    reload();
    search.focus();
  }

  const reload = () => { next = null; load(true); };

  async function create() {
    const key = await newSessionDialog();
    if (key) open(key);
  }

  /** @param {() => Promise<void>} change */
  async function attempt(change) {
    try { await change(); } catch (error) { announce(explain(error), 'error'); }
  }

  const rename = () => attempt(async () => {
    const session = rows[list.selected];
    if (!session) return;
    const title = await promptDialog('Rename', 'Title', session.title);
    if (!title) return;
    await api.rename(session.key, title);
    session.title = title;
    announce('Renamed');
    list.draw();
  });

  const togglePin = () => attempt(async () => {
    const session = rows[list.selected];
    if (!session) return;
    await api.pin(session.key, !session.pinned);
    session.pinned = !session.pinned;
    announce(session.pinned ? 'Pinned' : 'Unpinned');
    list.draw();
  });

  /** @param {boolean} pinned */
  const pinAll = pinned => attempt(async () => {
    for (const key of chosen) await api.pin(key, pinned);
    announce(`${pinned ? 'Pinned' : 'Unpinned'} ${chosen.size} sessions`);
    reload();
  });

  const trash = () => attempt(async () => {
    const keys = chosen.size > 0 ? [...chosen] : rows[list.selected] ? [rows[list.selected].key] : [];
    if (keys.length === 0) return;
    if (keys.length > 1 && !await confirmDialog('Move to the trash', [h('p', null, `${keys.length} sessions move to the trash. They can be restored.`)], 'Move')) return;
    /** @type {string[]} */
    const names = [];
    for (const key of keys) {
      const { trashed } = await api.trash(key);
      if (trashed) names.push(trashed);
      chosen.delete(key);
    }
    showSelection();
    reload();
    announce(keys.length === 1 ? 'Moved to the trash' : `${keys.length} sessions moved to the trash`, 'info', {
      name: 'Undo', run: () => attempt(async () => {
        for (const name of names) await api.restore(name);
        announce('Restored');
        reload();
      }),
    });
  });

  reload();
  list.element.focus();
  return { refresh: reload, close: () => { closed = true; request.abort(); } };
}
