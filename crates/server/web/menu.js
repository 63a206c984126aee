// A button that opens a list of actions.

import { h } from './dom.js';

/** @typedef {{ name: string, run?: () => void, href?: string }} MenuItem */

/**
 * @param {string} label
 * @param {() => MenuItem[]} items
 * @returns {HTMLElement}
 */
export function menuButton(label, items) {
  const list = h('ul', { role: 'menu', hidden: true, 'aria-label': label });
  const button = h('button', {
    type: 'button', 'aria-haspopup': 'menu', 'aria-expanded': 'false', onclick: () => (list.hidden ? open() : close()),
  }, label);
  const element = h('div', { class: 'menu', onkeydown: onKey, onfocusout: (/** @type {FocusEvent} */ event) => {
    if (!element.contains(/** @type {Node | null} */ (event.relatedTarget))) close();
  } }, button, list);

  /** @returns {HTMLElement[]} */
  const choices = () => [...list.querySelectorAll('[role="menuitem"]')].filter(each => each instanceof HTMLElement);

  function open() {
    list.replaceChildren(...items().map(item => h('li', { role: 'none' }, item.href
      ? h('a', { role: 'menuitem', tabIndex: -1, href: item.href, onclick: () => close() }, item.name)
      : h('button', { role: 'menuitem', type: 'button', tabIndex: -1, onclick: () => { close(); item.run?.(); } }, item.name))));
    list.hidden = false;
    button.setAttribute('aria-expanded', 'true');
    choices()[0]?.focus();
  }

  function close() {
    list.hidden = true;
    button.setAttribute('aria-expanded', 'false');
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    if (list.hidden) return;
    const all = choices();
    const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (event.key === 'ArrowDown') all[(at + 1) % all.length]?.focus();
    else if (event.key === 'ArrowUp') all[(at + all.length - 1) % all.length]?.focus();
    else if (event.key === 'Home') all[0]?.focus();
    else if (event.key === 'End') all.at(-1)?.focus();
    else if (event.key === 'Escape') { close(); button.focus(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  return element;
}
