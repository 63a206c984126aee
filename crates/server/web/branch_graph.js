// The relatives of a session as a drawing: one lane per session or branch, joined where it leaves its parent. The lanes
// are a tree for the keyboard: arrows walk it, Enter opens, C compares with the session that is shown.

import { count, h, svg } from './dom.js';

const LANE = 46;
const LEFT = 14;
const WIDTH = 440;

/**
 * @typedef {object} GraphActions
 * @property {(node: import('./api.js').GraphNode) => string} link
 * @property {(node: import('./api.js').GraphNode) => void} open
 * @property {(node: import('./api.js').GraphNode) => void} compare
 */

/**
 * The nodes so that children follow their parents.
 *
 * @param {import('./api.js').GraphNode[]} nodes
 * @returns {{ node: import('./api.js').GraphNode, index: number, depth: number }[]}
 */
function inOrder(nodes) {
  /** @type {{ node: import('./api.js').GraphNode, index: number, depth: number }[]} */
  const order = [];
  const open = nodes.map((node, index) => ({ node, index, depth: 0 })).filter(each => each.node.parent === null).reverse();
  while (open.length > 0) {
    const next = /** @type {typeof order[number]} */ (open.pop());
    order.push(next);
    nodes.forEach((node, index) => { if (node.parent === next.index) open.push({ node, index, depth: next.depth + 1 }); });
  }
  return order;
}

/**
 * The number of the lane that a node leaves: its parent, or an ancestor if the parent itself began later.
 *
 * @param {import('./api.js').GraphNode[]} nodes
 * @param {import('./api.js').GraphNode} node
 */
function bearer(nodes, node) {
  let at = node.parent ?? 0;
  while (nodes[at].parent !== null && nodes[at].from > node.from) at = nodes[at].parent ?? 0;
  return at;
}

/**
 * @param {import('./api.js').GraphNode[]} nodes
 * @param {number} turn The turn that is shown.
 * @param {GraphActions} actions
 * @returns {HTMLElement}
 */
export function branchGraph(nodes, turn, actions) {
  const lanes = inOrder(nodes);
  const most = Math.max(1, ...lanes.map(each => each.node.turns));
  /** @param {number} at */
  const x = at => LEFT + (Math.min(at, most) / most) * (WIDTH - 2 * LEFT);
  const rows = new Map(lanes.map((each, row) => [each.index, row]));
  const drawing = svg('svg', { viewBox: `0 0 ${WIDTH} ${lanes.length * LANE}`, class: 'graph', 'aria-hidden': 'true' });
  lanes.forEach(({ node }, row) => {
    const y = row * LANE + 30;
    const start = x(node.parent === null ? 0 : node.from);
    const parent = node.parent === null ? undefined : rows.get(bearer(nodes, node));
    if (parent !== undefined) {
      drawing.append(svg('path', { d: `M ${start} ${parent * LANE + 30} V ${y - 10} Q ${start} ${y} ${start + 10} ${y}`, class: 'joint' }));
    }
    const end = Math.max(x(node.turns), start + 12);
    drawing.append(
      svg('line', { x1: parent === undefined ? start : start + 10, x2: end, y1: y, y2: y, class: node.current ? 'lane current' : 'lane' }),
      svg('circle', { cx: end, cy: y, r: 4, class: node.current ? 'tip current' : 'tip' }));
    if (node.current) drawing.append(svg('circle', { cx: x(turn), cy: y, r: 7, class: 'here' }));
  });
  const items = lanes.map(({ node, depth }, row) => h('li', {
    role: 'treeitem', 'aria-level': depth + 1, 'aria-selected': String(node.current), tabIndex: row === 0 ? 0 : -1,
    class: node.current ? 'current' : '', onclick: () => { if (!node.current) actions.open(node); },
    'aria-label': `${node.title || node.id}, ${node.parent === null ? '' : `leaves at turn ${node.from}, `}${node.turns} turns`,
  }, h('span', { class: 'lane-title', dir: 'auto' }, node.title || node.id),
  h('span', { class: 'dim' }, node.parent === null ? ` ${count(node.turns)} turns` : ` from ${count(node.from)}, to ${count(node.turns)}`)));
  /** @param {KeyboardEvent} event */
  const onKey = event => {
    const at = items.indexOf(/** @type {HTMLLIElement} */ (document.activeElement));
    if (at < 0) return;
    const parent = lanes[at].node.parent;
    /** @type {Record<string, number>} */
    const moves = {
      ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1,
      ArrowLeft: parent === null ? at : rows.get(parent) ?? at,
      ArrowRight: lanes.findIndex(each => each.node.parent === lanes[at].index),
    };
    if (event.key in moves) items[Math.max(0, Math.min(moves[event.key], items.length - 1))]?.focus();
    else if (event.key === 'Enter' || event.key === ' ') actions.open(lanes[at].node);
    else if (event.key === 'c') actions.compare(lanes[at].node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const tree = h('ul', { role: 'tree', 'aria-label': 'Branches', onkeydown: onKey, onfocusin: (/** @type {FocusEvent} */ event) => {
    items.forEach(item => { item.tabIndex = item === event.target ? 0 : -1; });
  } }, ...items);
  return h('div', { class: 'branches' }, drawing, tree,
    h('p', { class: 'dim' }, h('kbd', null, '↑'), h('kbd', null, '↓'), ' walk, ', h('kbd', null, 'Enter'), ' opens, ', h('kbd', null, 'c'), ' compares with this session.'));
}
