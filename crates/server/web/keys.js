// Keyboard shortcuts and the command palette. Every command has a name, so that both the help and the palette list it.

import { fill, h } from './dom.js';

/**
 * @typedef {object} Command
 * @property {string} name
 * @property {string} [key] A single character, or a name of `KeyboardEvent.key`.
 * @property {() => void} run
 */

/** @type {Map<string, Command[]>} */
const scopes = new Map();

/**
 * Sets the commands of a scope, such as `global` or the current view. Those of a later call replace them.
 *
 * @param {string} scope
 * @param {Command[]} commands
 */
export function setCommands(scope, commands) {
  scopes.set(scope, commands);
}

/** @returns {Command[]} */
export function allCommands() {
  return [...scopes.values()].flat();
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return target instanceof HTMLElement
    && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
    && !(target instanceof HTMLInputElement && target.type === 'range');
}

/** Listens to the keyboard. */
export function listen() {
  document.addEventListener('keydown', event => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      openPalette();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector('dialog[open]')) return;
    const command = allCommands().findLast(each => each.key === event.key);
    if (!command) return;
    event.preventDefault();
    command.run();
  });
}

/**
 * Opens a dialog and removes it when it is closed.
 *
 * @param {string} label
 * @param {...(Node | string)} children
 * @returns {HTMLDialogElement}
 */
export function openDialog(label, ...children) {
  const before = document.activeElement;
  const dialog = h('dialog', { 'aria-label': label }, ...children);
  dialog.addEventListener('close', () => {
    dialog.remove();
    if (before instanceof HTMLElement) before.focus();
  });
  dialog.addEventListener('click', event => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Asks before something changes.
 *
 * @param {string} title
 * @param {(Node | string)[]} body
 * @param {string} action The label of the button that does it.
 * @returns {Promise<boolean>}
 */
export function confirmDialog(title, body, action) {
  return new Promise(resolve => {
    const yes = h('button', { class: 'primary', onclick: () => dialog.close('yes') }, action);
    const dialog = openDialog(title,
      h('h2', null, title), ...body,
      h('p', { class: 'buttons' }, yes, h('button', { onclick: () => dialog.close() }, 'Cancel')));
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes'));
    yes.focus();
  });
}

/**
 * Asks for one line of text.
 *
 * @param {string} title
 * @param {string} label
 * @param {string} value
 * @returns {Promise<string | null>}
 */
export function promptDialog(title, label, value) {
  return new Promise(resolve => {
    const input = h('input', { value, id: 'prompt-value', required: true });
    const form = h('form', { method: 'dialog', onsubmit: () => { dialog.returnValue = 'yes'; } },
      h('h2', null, title),
      h('label', { for: 'prompt-value' }, label), input,
      h('p', { class: 'buttons' }, h('button', { class: 'primary', value: 'yes' }, 'OK'),
        h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel')));
    const dialog = openDialog(title, form);
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes' ? input.value : null));
    input.select();
  });
}

/** Shows every command with its key. */
export function openHelp() {
  const rows = allCommands().filter(each => each.key).map(each =>
    h('tr', null, h('td', null, h('kbd', null, each.key ?? '')), h('td', null, each.name)));
  openDialog('Keyboard shortcuts',
    h('h2', null, 'Keyboard shortcuts'),
    h('table', { class: 'keys' }, h('tbody', null, ...rows,
      h('tr', null, h('td', null, h('kbd', null, 'Ctrl'), ' ', h('kbd', null, 'K')), h('td', null, 'Command palette')))));
}

/** Opens the command palette. */
export function openPalette() {
  if (document.querySelector('dialog[open]')) return;
  let chosen = 0;
  /** @type {Command[]} */
  let shown = [];
  const list = h('ul', { role: 'listbox', id: 'palette-list', 'aria-label': 'Commands' });
  const input = h('input', {
    type: 'search', role: 'combobox', placeholder: 'Type a command', autocomplete: 'off',
    'aria-controls': 'palette-list', 'aria-expanded': 'true', 'aria-label': 'Command',
    oninput: () => { chosen = 0; render(); },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'ArrowDown') chosen = Math.min(chosen + 1, shown.length - 1);
      else if (event.key === 'ArrowUp') chosen = Math.max(chosen - 1, 0);
      else if (event.key === 'Enter') { choose(chosen); }
      else return;
      event.preventDefault();
      render();
    },
  });
  const dialog = openDialog('Command palette', input, list);
  dialog.classList.add('palette');

  /** @param {number} index */
  function choose(index) {
    const command = shown[index];
    if (!command) return;
    dialog.close();
    command.run();
  }

  function render() {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = allCommands().filter(each => words.every(word => each.name.toLowerCase().includes(word)));
    fill(list, ...shown.map((command, index) => h('li', {
      role: 'option', id: `palette-${index}`, 'aria-selected': String(index === chosen),
      onclick: () => choose(index),
    }, command.name, command.key ? h('kbd', null, command.key) : null)));
    input.setAttribute('aria-activedescendant', `palette-${chosen}`);
    list.children[chosen]?.scrollIntoView({ block: 'nearest' });
  }
  render();
  input.focus();
}
