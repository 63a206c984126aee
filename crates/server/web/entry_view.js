// One entry as an article: Markdown for speech, folded headers for tools, pictures by reference.

import { codeBlock, diffBlock, looksLikeDiff } from './code.js';
import { announce, h, timeElement } from './dom.js';
import { markdown } from './markdown.js';
import { callBody, describeCall } from './tools.js';

const TOOLS = new Set(['tool_call', 'tool_result']);
/** Kinds that are folded, however short. */
const ASIDE = new Set(['thought', 'thinking', 'reasoning', 'system', 'bookkeeping', 'summary']);
/** Longer results of tools are folded. */
const SHORT = 240;
/** @type {Record<string, string>} */
const NAMES = { tool_call: 'tool', tool_result: 'result', npc: 'character', ooc: 'out of character' };

/** @param {string} text */
const firstLine = text => {
  const line = text.trimStart().split('\n', 1)[0];
  return line.length > 110 ? `${line.slice(0, 109)}…` : line;
};

/** @param {string} text */
function resultBody(text) {
  return looksLikeDiff(text) ? diffBlock(text) : codeBlock(text);
}

/** @param {import('./api.js').Entry} entry */
function body(entry) {
  const { kind, text } = entry;
  if (kind === 'tool_call') return h('div', { class: 'body' }, ...callBody(text));
  if (kind === 'tool_result') return h('div', { class: 'body' }, resultBody(text));
  return h('div', { class: 'body', dir: 'auto' }, ...markdown(text));
}

/** @param {import('./api.js').Entry} entry */
function content(entry) {
  const { kind, text } = entry;
  if (kind === 'tool_call') return fold(describeCall(text), () => body(entry));
  if (kind === 'tool_result') {
    if (!text.trim()) return h('p', { class: 'dim quiet' }, 'No output');
    return text.length > SHORT || text.includes('\n') ? fold(firstLine(text), () => body(entry), true) : h('p', { class: 'quiet' }, text);
  }
  if (ASIDE.has(kind) && (text.length > 80 || text.includes('\n'))) return fold(firstLine(text) || kind, () => body(entry));
  return body(entry);
}

/**
 * A header that opens what it folds. The content is made when it is first opened.
 *
 * @param {string} title
 * @param {() => Node} make
 * @param {boolean} [isResult]
 */
function fold(title, make, isResult = false) {
  const details = h('details', {
    class: isResult ? 'fold result' : 'fold',
    ontoggle: () => { if (details.open && details.children.length === 1) details.append(make()); },
  }, h('summary', { dir: 'auto' }, title));
  return details;
}

/**
 * @param {import('./api.js').Entry} entry
 * @param {string} link The permalink of its turn.
 * @param {(Node | null)[]} [extras] Further buttons of the entry.
 * @returns {HTMLElement}
 */
export function entryArticle(entry, link, extras = []) {
  const isTool = TOOLS.has(entry.kind);
  const speaker = isTool ? NAMES[entry.kind] : entry.speaker || entry.kind;
  const isPlain = ['user', 'assistant', 'narrator'].includes(entry.kind) || entry.kind === entry.speaker || isTool;
  return h('article', { class: `entry ${entry.kind.replace(/\W/g, '-')}${isTool ? ' tool' : ''}`, 'data-turn': entry.turn, 'data-seq': entry.seq },
    h('div', { class: 'by' },
      h('b', { dir: 'auto' }, speaker),
      isPlain ? null : h('span', { class: 'kind' }, NAMES[entry.kind] ?? entry.kind.replaceAll('_', ' ')),
      isTool ? null : timeElement(entry.time),
      h('span', { class: 'actions' }, ...extras,
        isTool ? null : h('button', { type: 'button', class: 'ghost', 'aria-label': `Copy the text of turn ${entry.turn}`, onclick: () => copy(entry.text) }, 'Copy'),
        h('a', { href: link, 'aria-label': `Permalink to turn ${entry.turn}` }, `#${entry.turn}`))),
    content(entry));
}

/** @param {string} text */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    announce('Copied');
  } catch { announce('The browser does not allow copying here.', 'error'); }
}

/**
 * A picture of an entry, or its description.
 *
 * @param {string} key
 * @param {import('./api.js').Attachment} attachment
 */
export function attachmentFigure(key, attachment) {
  const { turn, seq, number, description, media } = attachment;
  if (!media) return h('p', { class: 'attachment dim', dir: 'auto' }, `📎 ${description}`);
  const source = `/api/v1/sessions/${encodeURIComponent(key)}/attachment?turn=${turn}&seq=${seq}&number=${number}`;
  return h('figure', null, h('img', { src: source, alt: description, loading: 'lazy' }));
}
