// The dialog that creates a session.

import { api, explain } from './api.js';
import { announce, h } from './dom.js';
import { openDialog } from './keys.js';

const KINDS = [
  { format: 'campaign', name: 'Campaign', about: 'a game with a narrator, played here' },
  { format: 'game', name: 'Game', about: 'turns with a state that you write yourself' },
  { format: 'chatlog', name: 'Chat log', about: 'messages with versions' },
];

/** @returns {Promise<string | null>} The key of the new session. */
export function newSessionDialog() {
  return new Promise(resolve => {
    const name = h('input', { id: 'new-name', dir: 'auto', autocomplete: 'off' });
    const choices = KINDS.map(({ format, name: label, about }, index) => h('label', { class: 'choice' },
      h('input', { type: 'radio', name: 'format', value: format, checked: index === 0 }), h('strong', null, label), h('span', { class: 'dim' }, ` ${about}`)));
    const wrong = h('p', { class: 'problem', role: 'alert', hidden: true });
    const form = h('form', { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); create(); } },
      h('h2', null, 'New session'),
      h('fieldset', null, h('legend', null, 'Kind'), ...choices),
      h('label', { for: 'new-name' }, 'Name of the player, or title'), name, wrong,
      h('p', { class: 'buttons' }, h('button', { class: 'primary' }, 'Create'), h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel')));
    const dialog = openDialog('New session', form);
    dialog.addEventListener('close', () => resolve(dialog.returnValue || null));

    async function create() {
      const format = new FormData(form).get('format');
      const text = name.value.trim();
      const fields = format === 'chatlog' && text ? { fields: { title: text } } : {};
      try {
        const made = await api.create({ format, ...(text && format === 'game' ? { name: text } : {}), ...fields });
        announce('Created');
        dialog.close(made.key);
      } catch (error) {
        wrong.textContent = explain(error);
        wrong.hidden = false;
      }
    }
  });
}
