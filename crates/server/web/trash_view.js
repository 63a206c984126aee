// The trash of all sources, from which sessions are restored.

import { api, explain } from './api.js';
import { announce, count, fill, h, timeElement } from './dom.js';
import { setCommands } from './keys.js';

/**
 * @param {HTMLElement} main
 * @returns {Promise<{ refresh: () => void, close: () => void }>}
 */
export async function showTrash(main) {
  setCommands('view', []);
  const list = h('div', null);
  fill(main, h('section', { class: 'pad' }, h('h1', null, 'Trash'), list));

  /** @param {import('./api.js').Trashed} one */
  async function restore(one) {
    try {
      await api.restore(one.name);
      announce(`Restored ${one.id}`);
      await show();
    } catch (error) { announce(explain(error), 'error'); }
  }

  async function show() {
    const { sessions } = await api.trashed();
    fill(list, sessions.length === 0 ? h('p', { class: 'dim' }, 'The trash is empty. Sessions that you delete wait here until everturn purge removes them.')
      : h('table', { class: 'data' }, h('thead', null, h('tr', null, ...['session', 'format', 'since', 'size', ''].map(name => h('th', { scope: 'col' }, name || h('span', { class: 'sr' }, 'action'))))),
        h('tbody', null, ...[...sessions].reverse().map(one => h('tr', null, h('td', { dir: 'auto' }, one.id), h('td', null, one.format), h('td', null, timeElement(one.time)),
          h('td', { class: 'number' }, `${count(Math.ceil(one.bytes / 1024))} KiB`), h('td', null, h('button', { type: 'button', 'aria-label': `Restore ${one.id}`, onclick: () => restore(one) }, 'Restore')))))));
  }

  await show();
  return { refresh: () => { show().catch(() => {}); }, close: () => {} };
}
