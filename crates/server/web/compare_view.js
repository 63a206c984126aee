// Two sessions or branches side by side, aligned by turn, from the first turn that differs.

import { api, explain } from './api.js';
import { announce, count, fill, h } from './dom.js';
import { setCommands } from './keys.js';
import { sessionLink } from './links.js';
import { shortValue } from './state_tree.js';

/**
 * The words of a text, marked where the other text lacks them.
 *
 * @param {string} text
 * @param {string} other
 * @param {'ins' | 'del'} tag
 */
function markedWords(text, other, tag) {
  const there = new Set(other.split(/\s+/));
  return text.split(/(\s+)/).map(word => (word.trim() && !there.has(word) ? h(tag, null, word) : word));
}

/**
 * @param {HTMLElement} main
 * @param {string} left
 * @param {string} right
 * @returns {Promise<{ refresh: () => void, close: () => void }>}
 */
export async function showComparison(main, left, right) {
  // A branch of a session follows its key after a slash.
  const [one, two] = [left, right].map(each => each.split('\n'));
  const names = { left: one[0], right: two[0], left_branch: one[1], right_branch: two[1] };
  const first = await api.compare({ ...names, limit: 50 });
  const sides = /** @type {const} */ (['left', 'right']);
  const grid = h('div', { class: 'compare', role: 'region', 'aria-label': 'Turns side by side' });
  const more = h('button', { type: 'button', onclick: () => load() }, 'Show more turns');
  const before = h('button', { type: 'button', hidden: first.common === 0, onclick: () => earlier() }, 'Show the common turns');
  let next = first.next;
  setCommands('view', [{ name: 'Show more turns', key: 'j', run: () => load() }]);

  /** @param {import('./api.js').Comparison['turns'][number]} turn */
  function row(turn) {
    const texts = sides.map(side => turn[side].map(entry => `${entry.speaker}: ${entry.text}`).join('\n\n'));
    return sides.map((side, index) => h('div', { class: turn.same ? 'same' : 'differs', dir: 'auto' },
      h('a', { href: sessionLink(first[side].key, turn.turn), class: 'dim', 'aria-label': `Turn ${turn.turn} of ${first[side].title}` }, `#${turn.turn}`), ' ',
      ...(turn.same ? [h('span', { class: 'lines' }, turn.left.map(entry => `${entry.speaker}: ${entry.text}`).join('\n\n'))]
        : texts[index] ? [h('span', { class: 'lines' }, ...markedWords(texts[index], texts[1 - index], index === 0 ? 'del' : 'ins'))]
          : [h('span', { class: 'dim' }, 'no turn')])));
  }

  async function load() {
    if (next === null) return;
    try {
      const page = await api.compare({ ...names, from: next, limit: 50 });
      next = page.next;
      grid.append(...page.turns.flatMap(row));
      more.hidden = next === null;
    } catch (error) { announce(explain(error), 'error'); }
  }

  async function earlier() {
    before.hidden = true;
    try {
      const page = await api.compare({ ...names, from: Math.max(0, first.common - 49), limit: Math.min(50, first.common + 1) });
      grid.querySelector('.compare-head:last-of-type')?.after(...page.turns.filter(turn => turn.turn <= first.common).flatMap(row));
    } catch (error) { announce(explain(error), 'error'); }
  }

  const state = first.state.length === 0 ? [h('p', { class: 'dim' }, 'The last states do not differ, or are not stored.')]
    : [h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Differences of the states' }, h('table', { class: 'data mono' },
      h('thead', null, h('tr', null, ...['path', 'left', 'right'].map(name => h('th', { scope: 'col' }, name)))),
      h('tbody', null, ...first.state.map(each => h('tr', null, h('td', null, each.path.join('.')),
        h('td', null, 'left' in each ? h('del', null, shortValue(each.left)) : h('span', { class: 'dim' }, 'nothing')),
        h('td', null, 'right' in each ? h('ins', null, shortValue(each.right)) : h('span', { class: 'dim' }, 'nothing')))))))];
  fill(main, h('section', { class: 'pad wide' }, h('h1', null, 'Compare'),
    h('p', { class: 'dim' }, first.turns.length === 0 ? `Both are the same, up to turn ${count(first.common)}.`
      : first.common > 0 ? `The same up to turn ${count(first.common)}; from then on:` : 'They differ from the first turn:'),
    before,
    h('div', null, grid), more,
    h('h2', null, 'State at the end'), ...state));
  grid.append(...sides.map(side => h('h2', { class: 'compare-head', dir: 'auto' },
    h('a', { href: sessionLink(first[side].key) }, first[side].title || first[side].key),
    h('span', { class: 'dim' }, ` ${count(first[side].turns)} turns`))), ...first.turns.flatMap(row));
  more.hidden = next === null;
  return { refresh: () => {}, close: () => {} };
}
