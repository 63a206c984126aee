// Markdown as nodes. Text always becomes text nodes: markup that a session contains is shown and never runs.

import { codeBlock } from './code.js';
import { h } from './dom.js';

/** Longer texts are shown as they are. */
const LONGEST = 400_000;

const INLINE = /(?<code>`+)(?<inner>[\s\S]*?[^`])\k<code>(?!`)|(?<bold>\*\*|__)(?=\S)(?<strong>[^\n]*?\S)\k<bold>|(?<![*\w])\*(?=[^\s*])(?<em>[^*\n]*[^\s*])\*(?!\*)|(?<![_\w])_(?=[^\s_])(?<under>[^_\n]*[^\s_])_(?![_\w])|~~(?=\S)(?<gone>[^\n]*?\S)~~|(?<image>!?)\[(?<label>[^\]\n]*)\]\((?<target>[^)\s]+)(?:\s+"[^"\n]*")?\)|(?<url>https?:\/\/[^\s<>"')\]]+)/g;

/** @param {string} url @param {(Node | string)[]} children */
const link = (url, children) => h('a', { href: url, rel: 'noopener noreferrer', target: '_blank' }, ...children);

/**
 * The text of a line with its emphasis, code and links. Only http and https are linked, and pictures of other places are
 * only named.
 *
 * @param {string} text
 * @param {number} [depth]
 * @returns {(Node | string)[]}
 */
export function inline(text, depth = 0) {
  if (depth > 4) return [text];
  /** @type {(Node | string)[]} */
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const { inner, strong, em, under, gone, label, target, url } = /** @type {Record<string, string | undefined>} */ (match.groups);
    parts.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (inner !== undefined) parts.push(h('code', null, inner.trim() || inner));
    else if (strong !== undefined) parts.push(h('strong', null, ...inline(strong, depth + 1)));
    else if (em !== undefined || under !== undefined) parts.push(h('em', null, ...inline(em ?? under ?? '', depth + 1)));
    else if (gone !== undefined) parts.push(h('s', null, ...inline(gone, depth + 1)));
    else if (url !== undefined) parts.push(link(url, [url]));
    else if (target !== undefined && /^https?:\/\//i.test(target)) parts.push(link(target, label ? [label] : [target]));
    else parts.push(match[0]);
  }
  return [...parts, text.slice(end)];
}

/** @param {string} row */
const cells = row => row.replace(/^\s*\|/, '').replace(/\|\s*$/, '').split(/(?<!\\)\|/).map(cell => cell.trim());

/**
 * A list from its lines. Deeper items become lists in the item before them.
 *
 * @param {string[]} lines
 * @returns {HTMLElement}
 */
function list(lines) {
  const item = /^(\s*)([-*+]|\d+[.)])\s+(.*)$/;
  /** @type {{ indent: number, element: HTMLElement }[]} */
  const open = [];
  /** @type {HTMLElement | null} */
  let top = null;
  for (const line of lines) {
    const match = item.exec(line);
    const last = open.at(-1)?.element.lastElementChild;
    if (!match) { last?.append('\n', ...inline(line.trim())); continue; }
    const [, space, sign, text] = match;
    while (open.length > 1 && space.length < open[open.length - 1].indent) open.pop();
    if (open.length === 0 || (space.length > open[open.length - 1].indent + 1 && open.length < 8)) {
      const ordered = /\d/.test(sign);
      const element = ordered ? h('ol', { start: Number.parseInt(sign, 10) || 1 }) : h('ul', null);
      if (last) last.append(element); else top = element;
      open.push({ indent: space.length, element });
    }
    const task = /^\[([ xX])\]\s+(.*)$/.exec(text);
    open[open.length - 1].element.append(h('li', null, task ? (task[1] === ' ' ? '☐ ' : '☑ ') : null, ...inline(task ? task[2] : text)));
  }
  return top ?? h('ul', null);
}

/** @param {string[]} lines */
function table(lines) {
  const [head, , ...rows] = lines.map(cells);
  return h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Table' }, h('table', { class: 'data' },
    h('thead', null, h('tr', null, ...head.map(cell => h('th', { scope: 'col' }, ...inline(cell))))),
    h('tbody', null, ...rows.map(row => h('tr', null, ...head.map((_, at) => h('td', null, ...inline(row[at] ?? ''))))))));
}

const STARTS = /^(#{1,6}\s|\s*([-*+]|\d+[.)])\s+\S|>|```|~~~|\s*([-*_])(\s*\3){2,}\s*$)/;

/**
 * The blocks of a text.
 *
 * @param {string} text
 * @returns {Node[]}
 */
export function markdown(text) {
  if (text.length > LONGEST) return [h('p', { class: 'lines' }, text)];
  const lines = text.split('\n');
  /** @type {Node[]} */
  const blocks = [];
  let at = 0;
  /** @param {(line: string) => boolean} more */
  const take = more => {
    const first = at;
    while (at < lines.length && more(lines[at])) at += 1;
    return lines.slice(first, at);
  };
  while (at < lines.length) {
    const line = lines[at];
    const fence = /^\s*(```+|~~~+)\s*([^\s`]*)/.exec(line);
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (fence) {
      at += 1;
      const code = take(each => !each.trimStart().startsWith(fence[1]));
      at += 1;
      blocks.push(codeBlock(code.join('\n'), fence[2]));
    } else if (!line.trim()) {
      at += 1;
    } else if (heading) {
      at += 1;
      // The outline of the page has no headings of texts, which follow no order.
      blocks.push(h('p', { class: `heading level-${heading[1].length}` }, ...inline(heading[2])));
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      at += 1;
      blocks.push(h('hr', null));
    } else if (line.startsWith('>')) {
      const quoted = take(each => each.startsWith('>')).map(each => each.replace(/^>+\s?/, ''));
      blocks.push(h('blockquote', null, h('p', { class: 'lines' }, ...inline(quoted.join('\n')))));
    } else if (/^\s*([-*+]|\d+[.)])\s+\S/.test(line)) {
      blocks.push(list(take(each => each.trim() !== '' && !/^(#|>|\s*```)/.test(each))));
    } else if (line.includes('|') && /^\s*\|?[\s:|-]*-[\s:|-]*\|[\s:|-]*$/.test(lines[at + 1] ?? '')) {
      blocks.push(table(take(each => each.includes('|'))));
    } else {
      const first = lines[at];
      at += 1;
      const paragraph = [first, ...take(each => each.trim() !== '' && !STARTS.test(each))];
      blocks.push(h('p', { class: 'lines' }, ...inline(paragraph.join('\n'))));
    }
  }
  return blocks;
}
