// The table of a campaign: party, map, goal, dice, and the versions of the last turn.

import { api, explain } from './api.js';
import { announce, count, fill, h, svg } from './dom.js';

/** @param {{ hp: number | null, state: string }} one */
const fitness = one => `${one.hp === null ? '?' : one.hp} hp${one.state === 'alive' ? '' : `, ${one.state}`}`;

/**
 * The places that are known, drawn in rings around the one where the active character is.
 *
 * @param {import('./api.js').Table} table
 * @returns {SVGElement | null}
 */
function map(table) {
  const here = table.party.find(one => one.active)?.area ?? null;
  const near = new Set(table.areas.filter(area => area.visited).flatMap(area => [area.id, ...area.roads]));
  const areas = table.areas.filter(area => near.has(area.id) || area.id === here).slice(0, 24);
  if (areas.length === 0) return null;
  /** @type {Map<string, number>} */
  const rings = new Map(here ? [[here, 0]] : []);
  const open = here ? [here] : [areas[0].id];
  while (open.length > 0) {
    const id = /** @type {string} */ (open.shift());
    for (const next of areas.find(area => area.id === id)?.roads ?? []) {
      if (!rings.has(next) && near.has(next)) { rings.set(next, (rings.get(id) ?? 0) + 1); open.push(next); }
    }
  }
  /** @type {Map<string, { x: number, y: number }>} */
  const places = new Map();
  const deepest = Math.max(1, ...areas.map(area => rings.get(area.id) ?? 1));
  for (let ring = 0; ring <= deepest + 1; ring += 1) {
    const those = areas.filter(area => (rings.get(area.id) ?? deepest + 1) === ring);
    those.forEach((area, index) => {
      const angle = (index / those.length) * 2 * Math.PI - Math.PI / 2 + ring * 0.6;
      const far = ring === 0 ? 0 : 40 + (ring / (deepest + 1)) * 90;
      places.set(area.id, { x: 200 + 1.25 * far * Math.cos(angle), y: 140 + far * Math.sin(angle) });
    });
  }
  const roads = areas.flatMap(area => area.roads.filter(to => places.has(to) && area.id < to).map(to => {
    const [from, end] = [places.get(area.id), places.get(to)];
    return svg('line', { x1: from?.x, y1: from?.y, x2: end?.x, y2: end?.y, class: 'road' });
  }));
  const spots = areas.map(area => {
    const { x, y } = places.get(area.id) ?? { x: 0, y: 0 };
    const kind = area.id === here ? 'here' : area.visited ? 'visited' : 'unknown';
    return svg('g', { class: `place ${kind}` }, svg('circle', { cx: x, cy: y, r: area.id === here ? 8 : 5 }),
      svg('text', { x, y: y + 18, 'text-anchor': 'middle' }, area.name.replace(/^the /, '')));
  });
  return svg('svg', { viewBox: '0 0 400 290', class: 'map', role: 'img', 'aria-label': `Map: ${areas.map(area => area.name).join(', ')}` }, ...roads, ...spots);
}

/** @param {number} sides */
const roll = sides => 1 + crypto.getRandomValues(new Uint32Array(1))[0] % sides;

/** Dice that are no turn: for questions at the table. */
function dice() {
  const result = h('output', { class: 'dice-result', 'aria-live': 'polite' });
  return h('div', { class: 'dice' }, ...[4, 6, 8, 10, 12, 20, 100].map(sides =>
    h('button', { type: 'button', 'aria-label': `Roll a die with ${sides} sides`, onclick: () => { result.textContent = `d${sides}: ${roll(sides)}`; } }, `d${sides}`)), result);
}

/**
 * @param {string} key
 * @param {() => void} played Called when the campaign was changed.
 * @returns {Promise<Node[]>}
 */
export async function campaignTable(key, played) {
  const table = await api.table(key);
  const names = new Map(table.areas.map(area => [area.id, area.name]));

  /** @param {object} body */
  async function change(body) {
    try {
      await api.play(key, body);
      played();
    } catch (error) { announce(explain(error), 'error'); }
  }

  const party = table.party.map(one => h('li', { class: one.active ? 'active' : '' },
    h('div', null, h('strong', { dir: 'auto' }, one.id), h('span', { class: 'dim' }, ` ${fitness(one)}`),
      one.area ? h('span', { class: 'dim' }, `, in ${names.get(one.area) ?? one.area}`) : null,
      one.active || table.party.length < 2 ? null
        : h('button', { type: 'button', onclick: () => change({ do: 'actor', id: one.id }) }, 'Make active')),
    one.hp === null ? null : h('meter', { min: 0, max: Math.max(20, one.hp), value: Math.max(0, one.hp), 'aria-label': `Health of ${one.id}` }),
    h('div', { class: 'items' }, one.items.length === 0 ? h('span', { class: 'dim' }, 'carries nothing')
      : one.items.map(item => (item.count === 1 ? item.name : `${item.name} (${count(item.count)})`)).join(', '))));
  const versions = table.versions.length < 2 ? null : h('div', { class: 'versions' },
    h('h3', null, `Version ${table.version} of ${table.versions.length}`),
    h('ol', null, ...table.versions.map((version, index) => h('li', null,
      index + 1 === table.version ? h('strong', null, 'current: ') : h('button', { type: 'button', onclick: () => change({ do: 'choose', version: index + 1 }) }, 'Choose'), ' ',
      h('span', { class: 'dim', dir: 'auto' }, version.line ? `> ${version.line} ` : ''), h('span', { dir: 'auto' }, version.text.slice(0, 140))))));
  const drawing = map(table);
  const panel = h('div', { class: 'table-panel' });
  fill(panel,
    table.ended ? h('p', { class: 'problem' }, `The campaign has ended: ${table.ended}. Undo or rewind to go on.`) : null,
    h('h3', null, 'Party'), h('ul', { class: 'party' }, ...party),
    table.goal || table.milestone ? h('h3', null, 'Goal') : null,
    table.goal ? h('p', { dir: 'auto' }, table.goal) : null,
    table.milestone ? h('p', { class: 'dim', dir: 'auto' }, table.milestone) : null,
    drawing ? h('h3', null, 'Map') : null, drawing,
    h('h3', null, 'Dice'), dice(), versions,
    h('p', { class: 'dim' }, `Narrator: ${table.narrator}`));
  return [panel];
}
