// Tool calls in words: a header that says what a call did, and its arguments as people read them.

import { codeBlock, diffBlock, looksLikeDiff } from './code.js';
import { h } from './dom.js';

/** @param {unknown} value @returns {value is Record<string, any>} */
const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The name and the arguments of a call.
 *
 * @param {string} text
 * @returns {{ name: string, input: Record<string, any> | null, rest: string }}
 */
export function parseCall(text) {
  const match = /^(\S+)\s*([\s\S]*)$/.exec(text);
  if (!match) return { name: 'tool', input: null, rest: text };
  try {
    const input = JSON.parse(match[2]);
    return { name: match[1], input: isObject(input) ? input : null, rest: match[2] };
  } catch { return { name: match[1], input: null, rest: match[2] }; }
}

/** @param {unknown} value @param {number} [most] */
function short(value, most = 90) {
  const text = (Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : JSON.stringify(value) ?? '').replace(/\s+/g, ' ').trim();
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/**
 * What a call did, on one line.
 *
 * @param {string} text
 * @returns {string}
 */
export function describeCall(text) {
  const { name, input, rest } = parseCall(text);
  if (!input) return short(`${name} ${rest}`, 110);
  const path = input.file_path ?? input.path ?? input.filename ?? input.notebook_path ?? input.absolute_path;
  const command = input.command ?? input.cmd ?? input.script;
  const verb = name.toLowerCase().replace(/[_-]/g, '');
  if (command !== undefined) return `Ran ${short(command)}`;
  if (/^(read|view|cat|readfile)/.test(verb) && path) return `Read ${short(path)}`;
  if (/^(multiedit|edit|strreplace|replace|applypatch)/.test(verb)) return `Edited ${short(path ?? 'files')}`;
  if (/^(write|create)/.test(verb) && path) return `Wrote ${short(path)}`;
  if (/^(grep|search|glob|find|websearch|rg)/.test(verb)) return `Searched ${short(input.pattern ?? input.query ?? input.q ?? rest)}`;
  if (/fetch|browse/.test(verb) && input.url) return `Fetched ${short(input.url)}`;
  if (/todo|plan/.test(verb)) return 'Updated the plan';
  if (/^(task|agent|dispatch)/.test(verb)) return `Sub-agent: ${short(input.description ?? input.prompt ?? '')}`;
  return `${name} ${short(path ?? input.description ?? Object.values(input)[0] ?? '')}`;
}

/** @param {string} before @param {string} after */
function replaced(before, after) {
  const lines = (/** @type {string} */ text, /** @type {string} */ sign) => (text ? text.split('\n').map(line => `${sign}${line}`) : []);
  return diffBlock([...lines(before, '-'), ...lines(after, '+')].join('\n'));
}

/**
 * The arguments of a call: commands as code, edits as differences, everything else by name.
 *
 * @param {string} text
 * @returns {Node[]}
 */
export function callBody(text) {
  const { input, rest } = parseCall(text);
  if (!input) return [looksLikeDiff(rest) ? diffBlock(rest) : codeBlock(rest || text)];
  /** @type {Node[]} */
  const nodes = [];
  const { command, cmd, old_string: before, new_string: after, edits, patch, diff, content, todos, ...others } = input;
  const run = command ?? cmd;
  if (run !== undefined) nodes.push(codeBlock(Array.isArray(run) ? run.join(' ') : String(run), 'sh'));
  if (before !== undefined || after !== undefined) nodes.push(replaced(String(before ?? ''), String(after ?? '')));
  for (const edit of Array.isArray(edits) ? edits : []) {
    if (isObject(edit)) nodes.push(replaced(String(edit.old_string ?? edit.oldText ?? ''), String(edit.new_string ?? edit.newText ?? '')));
  }
  for (const each of [patch, diff]) if (typeof each === 'string') nodes.push(diffBlock(each));
  if (typeof content === 'string') nodes.push(codeBlock(content));
  else if (content !== undefined) nodes.push(codeBlock(JSON.stringify(content, null, 2), 'json'));
  if (Array.isArray(todos)) {
    nodes.push(h('ul', { class: 'todos' }, ...todos.filter(isObject).map(todo =>
      h('li', null, todo.status === 'completed' ? '☑ ' : todo.status === 'in_progress' ? '▸ ' : '☐ ', String(todo.content ?? todo.text ?? '')))));
  }
  const rows = Object.entries(others);
  if (rows.length > 0) {
    nodes.push(h('dl', { class: 'arguments' }, ...rows.flatMap(([name, value]) => [h('dt', null, name),
      h('dd', { dir: 'auto' }, typeof value === 'string' ? value : JSON.stringify(value))])));
  }
  return nodes;
}
