// The state of a session as a tree that can be folded, with changed values marked.

import { h } from './dom.js';

/**
 * @typedef {object} Change
 * @property {string} scope
 * @property {string} op
 * @property {string | (string | number)[]} path
 * @property {unknown} [value]
 * @property {unknown} [previousValue]
 */

/**
 * The keys of a path, with its scope first.
 *
 * @param {Change} change
 * @returns {string[]}
 */
export function keysOf(change) {
  const path = Array.isArray(change.path) ? change.path.map(String) : String(change.path ?? '').split('.').filter(Boolean);
  return [change.scope, ...path];
}

/** @param {string[]} keys */
const joined = keys => keys.join('\u0000');

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown> | unknown[]}
 */
const isContainer = value => typeof value === 'object' && value !== null;

/**
 * @param {unknown} value
 * @returns {string}
 */
export function shortValue(value) {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}

/**
 * Which subtrees are open, by path. It outlives a tree, so that stepping through turns keeps them open.
 *
 * @typedef {Set<string>} OpenPaths
 */

/**
 * @param {unknown} state The state by scope.
 * @param {Change[]} changes What the turn has changed.
 * @param {OpenPaths} open
 * @returns {HTMLElement}
 */
export function stateTree(state, changes, open) {
  /** @type {Map<string, Change>} */
  const changed = new Map();
  /** @type {Set<string>} */
  const above = new Set();
  for (const change of changes) {
    const keys = keysOf(change);
    changed.set(joined(keys), change);
    for (let length = 1; length < keys.length; length += 1) above.add(joined(keys.slice(0, length)));
  }

  /**
   * @param {string[]} keys
   * @param {unknown} value
   * @returns {HTMLElement}
   */
  function node(keys, value) {
    const path = joined(keys);
    const change = changed.get(path);
    const key = h('span', { class: 'key' }, keys.at(-1) ?? '');
    const before = change && 'previousValue' in change
      ? h('span', { class: 'before' }, h('span', { class: 'sr' }, ' before: '), shortValue(change.previousValue)) : null;
    if (!isContainer(value)) {
      return h('li', { class: change ? 'leaf changed' : 'leaf' }, key, ': ', before,
        h('span', { class: `value ${value === null ? 'null' : typeof value}` }, shortValue(value)));
    }
    const members = Object.entries(value);
    const size = Array.isArray(value) ? `[${members.length}]` : `{${members.length}}`;
    const list = h('ul', null);
    const details = h('details', {
      open: open.has(path) || above.has(path) || Boolean(change) || keys.length === 0,
      ontoggle: () => {
        if (details.open) open.add(path); else open.delete(path);
        if (details.open && !list.hasChildNodes()) members.forEach(([name, each]) => list.append(node([...keys, name], each)));
      },
    }, h('summary', null, key, ' ', h('span', { class: 'dim' }, size), before), list);
    if (details.open) members.forEach(([name, each]) => list.append(node([...keys, name], each)));
    return h('li', { class: change ? 'changed' : above.has(path) ? 'within' : '' }, details);
  }

  const scopes = isContainer(state) ? Object.entries(state) : [];
  return h('ul', { class: 'tree', 'aria-label': 'State' }, ...scopes.map(([scope, value]) => {
    if (open.size === 0) open.add(scope);
    return node([scope], value);
  }));
}

/**
 * The changes of a turn, one line each.
 *
 * @param {Change[]} changes
 * @returns {HTMLElement}
 */
export function changeList(changes) {
  if (changes.length === 0) return h('p', { class: 'dim' }, 'No changes.');
  return h('ul', { class: 'changes' }, ...changes.map(change => h('li', null,
    h('code', null, keysOf(change).join('.')), ' ',
    'previousValue' in change ? h('del', null, shortValue(change.previousValue)) : null, ' ',
    'value' in change ? h('ins', null, shortValue(change.value)) : h('span', { class: 'dim' }, change.op))));
}
