// The branches of a session as a drawing: one lane per session, joined where it leaves its parent.

import { h, svg } from './dom.js';

/**
 * @typedef {object} Lane
 * @property {string} id
 * @property {string} title
 * @property {number} from The turn at which it leaves its parent; 0 for the first lane.
 * @property {number} turns Its last turn.
 * @property {string | null} href
 */

const LANE = 44;
const LEFT = 16;
const WIDTH = 420;

/**
 * @param {Lane} main
 * @param {Lane[]} branches
 * @param {number} current The turn that is shown.
 * @returns {HTMLElement}
 */
export function branchGraph(main, branches, current) {
  const lanes = [main, ...branches];
  const most = Math.max(1, ...lanes.map(lane => lane.turns));
  /** @param {number} turn */
  const x = turn => LEFT + (turn / most) * (WIDTH - 2 * LEFT);
  const drawing = svg('svg', {
    viewBox: `0 0 ${WIDTH} ${lanes.length * LANE}`, class: 'graph', role: 'img',
    'aria-label': `${branches.length} branches`,
  });
  lanes.forEach((lane, index) => {
    const y = index * LANE + 20;
    const start = x(index === 0 ? 0 : lane.from);
    if (index > 0) {
      drawing.append(svg('path', { d: `M ${start} 20 V ${y - 10} Q ${start} ${y} ${start + 10} ${y}`, class: 'joint' }));
    }
    drawing.append(
      svg('line', { x1: index > 0 ? start + 10 : start, x2: Math.max(x(lane.turns), start + 10), y1: y, y2: y, class: 'lane' }),
      svg('circle', { cx: Math.max(x(lane.turns), start + 10), cy: y, r: 5, class: 'tip' }));
  });
  drawing.append(svg('circle', { cx: x(Math.min(current, main.turns)), cy: 20, r: 7, class: 'here' }));
  const items = lanes.map((lane, index) => h('li', null,
    lane.href ? h('a', { href: lane.href }, lane.title || lane.id) : h('strong', null, lane.title || lane.id),
    h('span', { class: 'dim' }, index === 0 ? ` ${lane.turns} turns` : ` from turn ${lane.from}, ${lane.turns} turns`)));
  return h('div', { class: 'branches' }, drawing, h('ol', null, ...items));
}
