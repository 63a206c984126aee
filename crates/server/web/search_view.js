// Search over all sessions, as you type.

import { api, explain } from './api.js';
import { announce, debounce, fill, h, timeElement } from './dom.js';
import { setCommands } from './keys.js';
import { sessionLink } from './links.js';

/**
 * The snippet with its matches marked. Positions count characters, not UTF-16 units.
 *
 * @param {import('./api.js').Hit} hit
 * @returns {(Node | string)[]}
 */
export function marked(hit) {
  const characters = [...hit.snippet];
  /** @type {(Node | string)[]} */
  const parts = [];
  let end = 0;
  for (const match of hit.highlights) {
    parts.push(characters.slice(end, match.start).join(''), h('mark', null, characters.slice(match.start, match.end).join('')));
    end = match.end;
  }
  return [...parts, characters.slice(end).join('')];
}

/**
 * @param {HTMLElement} main
 * @param {string} first The first query.
 * @returns {{ refresh: () => void, close: () => void }}
 */
export function showSearch(main, first) {
  let request = new AbortController();
  const input = h('input', {
    type: 'search', value: first, placeholder: 'Search in all sessions', 'aria-label': 'Search in all sessions', autocomplete: 'off',
    oninput: debounce(150, () => search()),
  });
  const summary = h('p', { class: 'summary', role: 'status' });
  const list = h('ol', { class: 'hits', 'aria-label': 'Hits' });
  fill(main, h('section', { class: 'sessions' }, h('h1', { class: 'sr' }, 'Search'),
    h('div', { class: 'filters', role: 'search' }, input), summary, list));
  setCommands('view', [{ name: 'Search', key: '/', run: () => input.focus() }]);

  async function search() {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    const q = input.value.trim();
    history.replaceState(null, '', `#/search/${encodeURIComponent(q)}`);
    if (!q) {
      fill(list);
      summary.textContent = 'Words, "a phrase", prefix*, -word, speaker:luna, since:3d';
      return;
    }
    try {
      const found = await api.search({ q, prefix: true, limit: 50 }, signal);
      if (signal.aborted) return;
      const similar = found.similar ? ', by similar words' : '';
      const unread = found.warnings.length > 0 ? `; ${found.warnings.length} places could not be searched` : '';
      summary.textContent = `${found.hits.length}${found.more ? ' or more' : ''} hits${similar}${unread}`;
      summary.title = found.warnings.join('\n');
      fill(list, ...found.hits.map(hit => h('li', null,
        h('a', { href: sessionLink(hit.key, hit.turn), dir: 'auto' }, hit.title || hit.key),
        h('span', { class: 'dim' }, ` turn ${hit.turn}, ${hit.speaker || hit.kind}, `), timeElement(hit.time),
        h('p', { dir: 'auto' }, ...marked(hit)))));
    } catch (error) {
      if (!signal.aborted) announce(explain(error), 'error');
    }
  }

  search();
  input.focus();
  return { refresh: () => {}, close: () => request.abort() };
}
