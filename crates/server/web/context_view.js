// What a model would see of a session, token by token budget.

import { api, explain } from './api.js';
import { count, debounce, fill, h } from './dom.js';
import { openDialog } from './keys.js';

/** @param {string} key */
export async function showContextDialog(key) {
  const output = h('output', { class: 'dim' });
  const text = h('pre', { class: 'preview', tabIndex: 0, role: 'region', 'aria-label': 'Text for the model' });
  const show = async () => {
    const tokens = Math.round(2 ** Number(budget.value));
    try {
      const found = await api.context(key, tokens);
      fill(output, `${count(found.tokens)} of ${count(tokens)} tokens: turns ${found.from ?? '–'} to ${found.to ?? '–'}; ${count(found.left_out)} entries do not fit.`);
      text.textContent = found.text;
      text.scrollTop = text.scrollHeight;
    } catch (error) { fill(output, explain(error)); }
  };
  const budget = h('input', { type: 'range', min: '7', max: '17', step: '0.25', value: '12', id: 'budget', oninput: debounce(150, show) });
  openDialog('What a model would see', h('h2', null, 'What a model would see'),
    h('label', { for: 'budget' }, 'Budget of tokens'), budget, output, text).classList.add('large');
  await show();
}
