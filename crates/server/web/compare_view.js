// Two sessions or branches side by side, aligned by turn.

import { api, explain } from './api.js';
import { announce, fill, h } from './dom.js';
import { setCommands } from './keys.js';
import { sessionLink } from './session_view.js';
import { changeList } from './state_tree.js';

const PAGE = 200;

/**
 * @param {HTMLElement} main
 * @param {string} left
 * @param {string} right
 * @returns {Promise<{ refresh: () => void, close: () => void }>}
 */
export async function showComparison(main, left, right) {
  const keys = [left, right];
  const infos = await Promise.all(keys.map(key => api.session(key)));
  const grid = h('div', { class: 'compare' }, ...infos.map(info => h('h2', { dir: 'auto' },
    h('a', { href: sessionLink(info.key) }, info.title || info.id))));
  const more = h('button', { type: 'button', onclick: () => load() }, 'Show more turns');
  const last = Math.max(...infos.map(info => info.turns ?? 0));
  let from = 0;
  setCommands('view', []);
  fill(main, h('section', { class: 'pad' }, h('h1', null, 'Compare'), grid, more));

  /**
   * @param {string} key
   * @param {number} first
   * @param {number} to
   */
  async function texts(key, first, to) {
    /** @type {Map<number, string[]>} */
    const turns = new Map();
    /** @type {string | null} */
    let cursor = null;
    do {
      /** @type {{ entries: import('./api.js').Entry[], next: string | null }} */
      const page = await api.entries(key, { from: first, to, limit: 500, cursor });
      for (const entry of page.entries) {
        turns.set(entry.turn, [...(turns.get(entry.turn) ?? []), `${entry.speaker}: ${entry.text}`]);
      }
      cursor = page.next;
    } while (cursor);
    return turns;
  }

  async function load() {
    try {
      const to = from + PAGE - 1;
      const [one, two] = await Promise.all(keys.map(key => texts(key, from, to)));
      for (let turn = from; turn <= Math.min(to, last); turn += 1) {
        const pair = [one, two].map(turns => (turns.get(turn) ?? []).join('\n\n'));
        if (!pair[0] && !pair[1]) continue;
        const differs = pair[0] !== pair[1] ? 'differs' : 'dim';
        pair.forEach((text, index) => grid.append(h('div', { class: differs, dir: 'auto' },
          h('a', { href: sessionLink(keys[index], turn), class: 'dim' }, `#${turn}`), ' ', text || '–')));
      }
      from = to + 1;
      more.hidden = from > last;
      if (more.hidden) await showStates();
    } catch (error) { announce(explain(error), 'error'); }
  }

  async function showStates() {
    const ends = infos.map(info => info.turns ?? 0);
    const changes = await Promise.all(keys.map((key, index) => api.diff(key, 0, ends[index]).catch(() => ({ changes: [] }))));
    grid.append(...changes.map((each, index) => h('div', null, h('h3', null, `State changes, turns 0 to ${ends[index]}`), changeList(each.changes))));
  }

  await load();
  return { refresh: () => {}, close: () => {} };
}
