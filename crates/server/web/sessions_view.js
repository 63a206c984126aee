// The list of sessions: facets, a filter as you type, and rows that open a session.

import { api, explain } from './api.js';
import { announce, count, debounce, fill, h, timeElement } from './dom.js';
import { setCommands } from './keys.js';
import { RowWindow } from './window_list.js';

const PAGE = 200;
const FACETS = /** @type {const} */ (['format', 'project', 'status', 'source']);

/**
 * @param {HTMLElement} main
 * @param {(key: string) => void} open Opens a session.
 * @returns {{ refresh: () => void, close: () => void }}
 */
export function showSessions(main, open) {
  /** @type {Record<string, string>} */
  const filter = {};
  /** @type {import('./api.js').Session[]} */
  let rows = [];
  /** @type {string | null} */
  let next = null;
  let loading = false;
  let closed = false;
  let request = new AbortController();

  const search = h('input', {
    type: 'search', placeholder: 'Filter by title, ID or project', 'aria-label': 'Filter sessions', autocomplete: 'off',
    oninput: debounce(120, () => { filter.text = search.value; reload(); }),
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'ArrowDown') { event.preventDefault(); list.element.focus(); }
    },
  });
  const selects = FACETS.map(name => h('select', {
    'aria-label': name, onchange: (/** @type {Event} */ event) => {
      filter[name] = /** @type {HTMLSelectElement} */ (event.target).value;
      reload();
    },
  }));
  const summary = h('p', { class: 'summary', role: 'status' });
  const list = new RowWindow({
    label: 'Sessions', rowHeight: 56,
    render: row,
    open: index => { const session = rows[index]; if (session) open(session.key); },
    nearEnd: () => { if (next && !loading) load(); },
  });
  const empty = h('div', { class: 'empty', hidden: true });
  fill(main, h('section', { class: 'sessions' },
    h('h1', { class: 'sr' }, 'Sessions'),
    h('div', { class: 'filters', role: 'search' }, search, ...selects),
    summary, list.element, empty));

  setCommands('view', [
    { name: 'Filter sessions', key: '/', run: () => search.focus() },
    { name: 'Pin or unpin the selected session', key: 'p', run: () => togglePin() },
    { name: 'Move the selected session to the trash', key: 'Delete', run: () => trash() },
  ]);

  /** @param {import('./api.js').Session} session */
  function row(session) {
    return h('div', null,
      h('div', null,
        h('div', { class: 'title', dir: 'auto' }, session.pinned ? '★ ' : '', session.title || session.id),
        h('div', { class: 'where', dir: 'auto' }, session.project ?? session.id)),
      h('span', { class: 'badge hide-small' }, session.format),
      h('span', { class: 'right hide-small' }, count(session.turns), ' turns'),
      h('span', { class: 'right dim' }, session.problems > 0 ? h('span', { title: 'has findings' }, '⚠ ') : null,
        timeElement(session.updated)));
  }

  /** @param {import('./api.js').SessionPage} page */
  function showFacets(page) {
    selects.forEach((select, index) => {
      const name = FACETS[index];
      const values = page.facets[name];
      const chosen = filter[name] ?? '';
      fill(select, h('option', { value: '' }, `Any ${name}`), ...values.map(({ value, count: sessions }) =>
        h('option', { value, selected: value === chosen }, `${value} (${sessions})`)));
      if (chosen && !values.some(each => each.value === chosen)) {
        select.append(h('option', { value: chosen, selected: true }, chosen));
      }
      select.hidden = values.length < 2 && !chosen;
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
      summary.textContent = `${count(page.total)} sessions${unread}`;
      summary.title = page.warnings.join('\n');
      empty.hidden = page.total > 0;
      list.element.hidden = page.total === 0;
      showEmpty();
      list.setRows(rows);
    } catch (error) {
      if (!signal.aborted) announce(explain(error), 'error');
    } finally {
      if (!signal.aborted) loading = false;
    }
  }

  function showEmpty() {
    const filtered = Object.values(filter).some(Boolean);
    fill(empty, filtered
      ? h('p', null, 'No session matches. ', h('button', { onclick: clear }, 'Clear the filters'))
      : h('p', null, 'There are no sessions yet. Start one in a terminal: ', h('code', null, 'everturn play')));
  }

  function clear() {
    for (const name of Object.keys(filter)) delete filter[name];
    search.value = '';
    reload();
    search.focus();
  }

  const reload = () => { next = null; load(true); };

  async function togglePin() {
    const session = rows[list.selected];
    if (!session) return;
    try {
      await api.pin(session.key, !session.pinned);
      session.pinned = !session.pinned;
      announce(session.pinned ? 'Pinned' : 'Unpinned');
      list.draw();
    } catch (error) { announce(explain(error), 'error'); }
  }

  async function trash() {
    const session = rows[list.selected];
    if (!session) return;
    try {
      const { trashed } = await api.trash(session.key);
      announce(`Moved to trash. Undo with: everturn restore ${trashed ?? session.id}`);
      reload();
    } catch (error) { announce(explain(error), 'error'); }
  }

  reload();
  list.element.focus();
  return { refresh: reload, close: () => { closed = true; request.abort(); } };
}
