// The field at the foot of a session: a draft that is kept, and the narrator's answer as it arrives.

import { api } from './api.js';
import { announce, h } from './dom.js';

/** What a message looks like in each format. */
const MESSAGES = /** @type {Record<string, (text: string) => object>} */ ({
  game: text => ({ actor: 'player', narration: text }),
  chatlog: text => ({ type: 'protagonist', text }),
  codelia: text => ({ role: 'user', content: text }),
  linggen: text => ({ role: 'user', content: text }),
});

/**
 * @typedef {object} ComposerOptions
 * @property {string} key
 * @property {string} format
 * @property {boolean} keys Whether turns may have an idempotency key.
 * @property {() => number} turns The last turn.
 * @property {() => Promise<void>} sent Called when a turn is stored.
 * @property {(change: () => Promise<void>) => Promise<void>} attempt Runs a change and shows why it failed.
 */

/**
 * @param {ComposerOptions} options
 * @returns {HTMLElement | null}
 */
export function makeComposer({ key, format, keys, turns, sent, attempt }) {
  const isCampaign = format === 'campaign';
  if (!isCampaign && !(format in MESSAGES)) return null;
  const draftKey = `draft:${key}`;
  const area = h('textarea', {
    'aria-label': isCampaign ? 'What you do' : 'Message', placeholder: isCampaign ? 'What do you do?' : 'Write the next turn', rows: 1,
    value: localStorage.getItem(draftKey) ?? '', dir: 'auto', oninput: () => { localStorage.setItem(draftKey, area.value); grow(); },
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      if (event.key === 'Escape') { area.blur(); return; }
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey || (isCampaign && !event.shiftKey && !event.isComposing))) { event.preventDefault(); send(); }
    },
  });
  const button = h('button', { class: 'primary', type: 'submit' }, isCampaign ? 'Do it' : 'Send');
  const told = h('div', { class: 'told', hidden: true, 'aria-live': 'polite', dir: 'auto' });
  /** The key of the message that is being sent: a message that is sent again is stored once. */
  let id = crypto.randomUUID();
  let busy = false;

  function grow() {
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight + 2, innerHeight * 0.3)}px`;
  }

  /** @param {() => Promise<void>} work */
  const alone = work => attempt(async () => {
    if (busy) return;
    busy = true;
    button.disabled = true;
    try { await work(); } finally {
      busy = false;
      button.disabled = false;
      told.hidden = true;
    }
  });

  /** @param {object} body @param {boolean} [isLine] */
  async function play(body, isLine = false) {
    told.hidden = false;
    told.textContent = 'The narrator is thinking…';
    // A line that is sent again after a lost answer is stored once.
    const answer = await api.playStream(key, body, turns(), isLine ? id : null, text => { told.textContent = text; });
    id = crypto.randomUUID();
    for (const note of answer.notes) announce(note);
    await sent();
  }

  const send = () => alone(async () => {
    const text = area.value;
    if (!text.trim() && !isCampaign) return;
    if (isCampaign) await play({ do: 'say', line: text }, true);
    else {
      await api.append(key, MESSAGES[format](text), turns(), keys ? id : null);
      id = crypto.randomUUID();
    }
    // What was written meanwhile is the next draft.
    if (area.value === text) {
      area.value = '';
      localStorage.removeItem(draftKey);
      grow();
    }
    if (!isCampaign) await sent();
  });

  /** @param {string} name @param {() => Promise<void>} run */
  const action = (name, run) => h('button', { type: 'button', onclick: () => alone(run) }, name);
  const actions = isCampaign ? h('div', { class: 'buttons' },
    action('Continue', () => play({ do: 'say', line: '' })),
    action('Retry', () => play({ do: 'retry' })),
    action('Replace my line', async () => {
      if (!area.value.trim()) { announce('Write the new line first.'); return; }
      await play({ do: 'edit', line: area.value });
      area.value = '';
      localStorage.removeItem(draftKey);
    }),
    action('Undo', async () => { await api.play(key, { do: 'undo', turns: 1 }); await sent(); }),
    action('Redo', async () => { await api.play(key, { do: 'redo', turns: 1 }); await sent(); })) : null;
  setTimeout(grow);
  return h('form', { class: 'composer', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); send(); } },
    told, h('div', { class: 'line' }, area, button), actions);
}
