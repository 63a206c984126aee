// Tokens and costs of all sessions, and the findings of one session.

import { api } from './api.js';
import { count, fill, h, svg } from './dom.js';
import { setCommands } from './keys.js';
import { sessionLink } from './session_view.js';

const GROUPINGS = /** @type {const} */ (['day', 'model', 'project', 'format']);

/**
 * @param {import('./api.js').Usage[]} groups
 * @returns {SVGElement}
 */
function chart(groups) {
  const most = Math.max(1, ...groups.map(group => group.input + group.output));
  const width = 1000 / Math.max(1, groups.length);
  return svg('svg', { class: 'chart', viewBox: '0 0 1000 100', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    ...groups.map((group, index) => {
      const height = ((group.input + group.output) / most) * 100;
      return svg('rect', { x: index * width + 1, y: 100 - height, width: Math.max(1, width - 2), height });
    }));
}

/**
 * @param {HTMLElement} main
 * @param {string} by
 * @returns {Promise<{ refresh: () => void, close: () => void }>}
 */
export async function showStats(main, by) {
  const grouping = GROUPINGS.find(name => name === by) ?? 'day';
  const stats = await api.stats(grouping);
  setCommands('view', []);
  const head = ['', 'sessions', 'answers', 'input', 'output', 'cached', 'cost'];
  fill(main, h('section', { class: 'pad' },
    h('h1', null, 'Tokens and costs'),
    h('p', { class: 'dim' }, `${count(stats.recorded)} of ${count(stats.sessions)} sessions record their usage.`),
    h('p', { class: 'buttons' }, ...GROUPINGS.map(name => h('a', { href: `#/stats/${name}`, 'aria-current': name === grouping ? 'page' : null }, `by ${name}`))),
    stats.groups.length === 0 ? h('p', null, 'No session records tokens yet.') : chart(stats.groups),
    h('table', { class: 'data' },
      h('thead', null, h('tr', null, ...head.map((name, index) => h('th', { class: index > 0 ? 'number' : '', scope: 'col' }, name || grouping)))),
      h('tbody', null, ...stats.groups.map(group => h('tr', null, h('td', { dir: 'auto' }, group.group || '–'),
        ...[group.sessions, group.answers, group.input, group.output, group.cache_read].map(value => h('td', { class: 'number' }, count(value))),
        h('td', { class: 'number' }, group.cost === null ? '–' : `$${group.cost.toFixed(2)}`)))))));
  return { refresh: () => {}, close: () => {} };
}

/**
 * @param {HTMLElement} main
 * @param {string} key
 * @returns {Promise<{ refresh: () => void, close: () => void }>}
 */
export async function showFindings(main, key) {
  const [info, found] = await Promise.all([api.session(key), api.check(key)]);
  setCommands('view', []);
  fill(main, h('section', { class: 'pad' },
    h('h1', { dir: 'auto' }, 'Check of ', h('a', { href: sessionLink(key) }, info.title || info.id)),
    h('p', { class: 'dim' }, `${count(found.files)} files, ${count(found.records)} valid records.`),
    found.findings.length === 0 ? h('p', null, 'No findings.')
      : h('table', { class: 'data' },
        h('thead', null, h('tr', null, ...['code', 'where', 'what', 'repair'].map(name => h('th', { scope: 'col' }, name)))),
        h('tbody', null, ...found.findings.map(each => h('tr', null,
          h('td', null, h('code', null, each.code)),
          h('td', null, each.line === null ? each.file : `${each.file}:${each.line}`),
          h('td', { dir: 'auto' }, each.message), h('td', null, each.repair))))),
    found.findings.length > 0 && info.writable
      ? h('p', null, 'To repair it: ', h('code', null, `everturn repair ${info.id}`)) : null));
  return { refresh: () => {}, close: () => {} };
}
