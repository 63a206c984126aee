// One entry as an article. Text stays text; code fences and tool calls are set apart.

import { h, timeElement } from './dom.js';

const FOLDED = new Set(['tool_call', 'tool_result', 'thought', 'reasoning', 'system', 'event']);
/** Longer texts of tools are folded. */
const SHORT = 240;

/**
 * The parts of a text: plain ones, and fenced code.
 *
 * @param {string} text
 * @returns {{ code: boolean, text: string }[]}
 */
export function parts(text) {
  /** @type {{ code: boolean, text: string }[]} */
  const found = [];
  const fence = /^```[^\n]*\n([\s\S]*?)(?:^```[ \t]*$|(?![\s\S]))/gm;
  let end = 0;
  for (const match of text.matchAll(fence)) {
    const before = text.slice(end, match.index).replace(/\n$/, '');
    if (before) found.push({ code: false, text: before });
    found.push({ code: true, text: match[1].replace(/\n$/, '') });
    end = match.index + match[0].length;
  }
  const rest = text.slice(end).replace(/^\n/, '');
  if (rest) found.push({ code: false, text: rest });
  return found;
}

/**
 * Text with its addresses as links. Only http and https are linked.
 *
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function linked(text) {
  return text.split(/(https?:\/\/[^\s<>"')\]]+)/).map((part, index) =>
    (index % 2 === 1 ? h('a', { href: part, rel: 'noopener noreferrer', target: '_blank' }, part) : part));
}

/** @param {string} text */
function body(text) {
  return h('div', { class: 'body', dir: 'auto' }, ...parts(text).flatMap(part =>
    (part.code ? [h('pre', null, h('code', null, part.text))] : linked(part.text))));
}

/**
 * @param {import('./api.js').Entry} entry
 * @param {string} link The permalink of its turn.
 * @returns {HTMLElement}
 */
export function entryArticle(entry, link) {
  const isFolded = FOLDED.has(entry.kind) && (entry.text.length > SHORT || entry.text.includes('\n'));
  const first = entry.text.split('\n', 1)[0].slice(0, 100);
  return h('article', { class: `entry ${entry.kind}`, 'data-turn': entry.turn, 'data-seq': entry.seq },
    h('div', { class: 'by' },
      h('b', { dir: 'auto' }, entry.speaker || entry.kind),
      entry.kind !== 'user' && entry.kind !== 'assistant' ? h('span', null, entry.kind.replace('_', ' ')) : null,
      timeElement(entry.time),
      h('a', { href: link, 'aria-label': `Permalink to turn ${entry.turn}` }, `#${entry.turn}`)),
    isFolded ? h('details', null, h('summary', { dir: 'auto' }, first), body(entry.text)) : body(entry.text));
}
