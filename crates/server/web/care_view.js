// Tokens and costs of all sessions, the heat map of activity, and retention.

import { api, explain } from './api.js';
import { barChart, heatMap } from './charts.js';
import { announce, count, fill, h, timeElement } from './dom.js';
import { confirmDialog, setCommands } from './keys.js';
import { sessionLink } from './links.js';

const GROUPINGS = /** @type {const} */ (['day', 'model', 'project', 'format']);

/** @param {number | null} cost */
const money = cost => (cost === null ? '–' : `$${cost.toFixed(2)}`);

/**
 * @param {HTMLElement} main
 * @param {string} by
 * @returns {Promise<{ refresh: () => void, close: () => void }>}
 */
export async function showStats(main, by) {
  const grouping = GROUPINGS.find(name => name === by) ?? 'day';
  fill(main, h('section', { class: 'pad' }, h('h1', null, 'Tokens and costs'), h('p', { class: 'dim', role: 'status' }, 'Reading all sessions…')));
  const [stats, days] = await Promise.all([api.stats(grouping), grouping === 'day' ? null : api.stats('day')]);
  setCommands('view', GROUPINGS.map((name, index) => ({ name: `Costs by ${name}`, key: String(index + 1), run: () => { location.hash = `#/stats/${name}`; } })));
  const total = stats.groups.reduce((sum, group) => ({ tokens: sum.tokens + group.input + group.output, cost: sum.cost + (group.cost ?? 0) }), { tokens: 0, cost: 0 });
  const activity = new Map((days ?? stats).groups.map(group => [group.group, group.answers || group.sessions]));
  const bars = stats.groups.slice(-60).map(group => ({
    name: group.group || '–', value: group.input + group.output, light: group.cache_read,
    title: `${group.group || '–'}: ${count(group.input + group.output)} tokens, ${count(group.cache_read)} from the cache, ${money(group.cost)}`,
  }));
  const head = ['', 'sessions', 'answers', 'input', 'output', 'cached', 'cost'];
  fill(main, h('section', { class: 'pad' },
    h('h1', null, 'Tokens and costs'),
    h('p', { class: 'totals' }, h('span', null, h('strong', null, count(total.tokens)), ' tokens'), h('span', null, h('strong', null, money(total.cost)), ' recorded'),
      h('span', { class: 'dim' }, `${count(stats.recorded)} of ${count(stats.sessions)} sessions record their usage`)),
    h('nav', { class: 'buttons', 'aria-label': 'Group by' }, ...GROUPINGS.map(name => h('a', { class: 'button', href: `#/stats/${name}`, 'aria-current': name === grouping ? 'page' : null }, `by ${name}`))),
    stats.groups.length === 0 ? h('p', null, 'No session records tokens yet. Sessions of agents do; games do not.') : barChart(bars, 'tokens'),
    h('h2', null, 'Activity'), heatMap(activity, 'answers'),
    h('h2', null, `By ${grouping}`),
    h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Numbers' }, h('table', { class: 'data' },
      h('thead', null, h('tr', null, ...head.map((name, index) => h('th', { class: index > 0 ? 'number' : '', scope: 'col' }, name || grouping)))),
      h('tbody', null, ...[...stats.groups].reverse().map(group => h('tr', null, h('td', { dir: 'auto' }, group.group || '–'),
        ...[group.sessions, group.answers, group.input, group.output, group.cache_read].map(value => h('td', { class: 'number' }, count(value))),
        h('td', { class: 'number' }, money(group.cost))))))),
    stats.warnings.length > 0 ? h('p', { class: 'dim' }, `${stats.warnings.length} sessions could not be read.`) : null));
  return { refresh: () => {}, close: () => {} };
}

/**
 * Which sessions would expire, and moving them to the trash.
 *
 * @param {HTMLElement} main
 * @returns {Promise<{ refresh: () => void, close: () => void }>}
 */
export async function showRetention(main) {
  setCommands('view', []);
  const field = (/** @type {string} */ id, /** @type {string} */ label, /** @type {string} */ value) => ({
    label: h('label', { for: id }, label), input: h('input', { id, type: 'number', min: '0', value, inputMode: 'numeric' }),
  });
  const days = field('days', 'Days since the last activity', '365');
  const most = field('count', 'Sessions to keep', '');
  const plan = h('div', { role: 'status' });
  const limits = () => Object.fromEntries([['days', days], ['count', most]].flatMap(([name, each]) => {
    const { value } = /** @type {typeof days} */ (each).input;
    return value === '' ? [] : [[name, Number(value)]];
  }));

  async function show() {
    try {
      const found = await api.retention(limits());
      const going = found.sessions.filter(each => each.expires);
      const kept = found.sessions.filter(each => each.pinned);
      fill(plan, h('p', null, h('strong', null, `${count(found.expired)} of ${count(found.sessions.length)} sessions`), ` would move to the trash, ${count(Math.round(found.bytes / 1024))} KiB. ${kept.length} pinned sessions stay.`),
        going.length > 0 ? h('button', { class: 'primary', type: 'button', onclick: () => apply(going.length) }, 'Move them to the trash') : null,
        going.length === 0 ? h('p', { class: 'dim' }, 'Choose other limits to see what they would do.') : h('table', { class: 'data' }, h('thead', null, h('tr', null, ...['session', 'last activity', 'why'].map(name => h('th', { scope: 'col' }, name)))),
          h('tbody', null, ...going.slice(0, 500).map(each => h('tr', null,
            h('td', { dir: 'auto' }, each.key ? h('a', { href: sessionLink(each.key) }, each.id) : each.id),
            h('td', null, timeElement(each.active)), h('td', null, each.why.join('; ')))))));
    } catch (error) { fill(plan, h('p', { class: 'problem' }, explain(error))); }
  }

  /** @param {number} number */
  async function apply(number) {
    if (!await confirmDialog('Retention', [h('p', null, `${number} sessions move to the trash. They can be restored.`)], 'Move')) return;
    try {
      const { sessions } = await api.expire(limits());
      announce(`${sessions.filter(each => each.trashed).length} sessions moved to the trash`);
      await show();
    } catch (error) { announce(explain(error), 'error'); }
  }

  fill(main, h('section', { class: 'pad' }, h('h1', null, 'Retention'),
    h('p', { class: 'dim' }, 'Sessions that exceed a limit move to the trash when you say so. Sessions of other programs never do.'),
    h('form', { class: 'fields', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); show(); } },
      days.label, days.input, most.label, most.input, h('button', null, 'Preview')), plan));
  await show();
  return { refresh: () => {}, close: () => {} };
}
