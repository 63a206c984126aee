// Colours for code: a small scanner for the words, texts, numbers and comments that most languages share.

import { h } from './dom.js';

const WORDS = new Set(('abstract and as async await bool boolean break case catch char class const continue crate def default '
  + 'defer del delete do double elif else end enum except export extends extern false final finally float fn for from func '
  + 'function global go goto if impl implements import in include int interface internal is lambda let local long loop match '
  + 'mod module move mut namespace new nil none not null object or package pass private protected pub public raise record ref '
  + 'require return self short signed sizeof static string struct super switch then this throw throws trait true try type '
  + 'typeof undefined union unless unsafe unsigned until use using val var virtual void where while with yield '
  + 'SELECT FROM WHERE INSERT UPDATE DELETE CREATE TABLE JOIN AND OR NOT NULL').split(' '));
/** Languages whose comments start with a hash. */
const HASH = /^(sh|bash|zsh|shell|console|py|python|rb|ruby|yaml|yml|toml|perl|make|dockerfile|r|ini)$/i;
/** Longer code is shown without colours. */
const LONGEST = 60_000;

const SLASH = /(?<comment>\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<text>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?)|(?<number>\b\d[\w.]*)|(?<word>[A-Za-z_]\w*)/g;
const POUND = /(?<comment>#[^\n]*)|(?<text>"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\\n])*'?)|(?<number>\b\d[\w.]*)|(?<word>[A-Za-z_]\w*)/g;
const DASH = /(?<comment>--[^\n]*)|(?<text>"(?:\\.|[^"\\])*"?|'(?:''|[^'])*'?)|(?<number>\b\d[\w.]*)|(?<word>[A-Za-z_]\w*)/g;

/** @param {string} text */
export const looksLikeDiff = text => /^(diff --git |--- |\*\*\* Begin Patch|@@ )/m.test(text) && /^[+-]/m.test(text);

/**
 * A diff, with a class for each line.
 *
 * @param {string} text
 * @returns {HTMLElement}
 */
export function diffBlock(text) {
  const kinds = /** @type {Record<string, string>} */ ({ '+': 'add', '-': 'del', '@': 'hunk' });
  const lines = text.split('\n').map(line => {
    const kind = /^(\+\+\+|---|diff |index |\*\*\*)/.test(line) ? 'file' : kinds[line[0]] ?? 'same';
    return h('span', { class: `diff-${kind}` }, `${line}\n`);
  });
  return h('pre', { class: 'diff', tabIndex: 0, role: 'region', 'aria-label': 'Differences' }, h('code', null, ...lines));
}

/**
 * Code with colours.
 *
 * @param {string} code
 * @param {string} language
 * @returns {(Node | string)[]}
 */
export function coloured(code, language) {
  if (code.length > LONGEST) return [code];
  /** @type {(Node | string)[]} */
  const parts = [];
  let end = 0;
  const rules = /^(sql|lua|haskell|ada)$/i.test(language) ? DASH : HASH.test(language) ? POUND : SLASH;
  for (const match of code.matchAll(rules)) {
    const { comment, text, number, word } = /** @type {Record<string, string | undefined>} */ (match.groups);
    const kind = comment !== undefined ? 'c' : text !== undefined ? 's' : number !== undefined ? 'n' : word && WORDS.has(word) ? 'k' : null;
    if (kind === null) continue;
    parts.push(code.slice(end, match.index), h('span', { class: `code-${kind}` }, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, code.slice(end)];
}

/**
 * A block of code with a button that copies it.
 *
 * @param {string} code
 * @param {string} [language]
 * @returns {HTMLElement}
 */
export function codeBlock(code, language = '') {
  if (/^(diff|patch)$/i.test(language) || looksLikeDiff(code)) return diffBlock(code);
  const pre = h('pre', { tabIndex: 0, role: 'region', 'aria-label': language ? `Code, ${language}` : 'Code' },
    h('code', null, ...coloured(code, language)));
  return h('div', { class: 'code-block' }, pre,
    h('button', { type: 'button', class: 'copy', 'data-copy': '1', onclick: () => { navigator.clipboard?.writeText(code); } }, 'Copy'));
}
