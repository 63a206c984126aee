// The health of a session: findings with the plan of a repair, and where secrets are. The secrets themselves are never shown.

import { api, explain } from './api.js';
import { announce, count, fill, h } from './dom.js';
import { confirmDialog, setCommands } from './keys.js';
import { sessionLink } from './links.js';

/** @param {import('./api.js').Finding[]} findings */
function findingsTable(findings) {
  return h('div', { class: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'Findings' }, h('table', { class: 'data' },
    h('thead', null, h('tr', null, ...['', 'where', 'what', 'repair'].map(name => h('th', { scope: 'col' }, name || 'code')))),
    h('tbody', null, ...findings.map(each => h('tr', { class: each.severity },
      h('td', null, h('code', null, each.code)),
      h('td', { class: 'mono' }, each.line === null ? each.file : `${each.file}:${each.line}`),
      h('td', { dir: 'auto' }, each.message), h('td', null, each.repair))))));
}

/**
 * @param {HTMLElement} main
 * @param {string} key
 * @returns {Promise<{ refresh: () => void, close: () => void }>}
 */
export async function showHealth(main, key) {
  const info = await api.session(key);
  setCommands('view', [{ name: 'Check again', key: 'r', run: () => show() }, { name: 'Open the session', key: 'o', run: () => { location.hash = sessionLink(key); } }]);
  const state = h('div', { role: 'status' }, h('p', { class: 'dim' }, 'Checking…'));
  const plan = h('div', null);
  const secrets = h('div', null, h('p', { class: 'dim' }, 'Scanning…'));
  fill(main, h('section', { class: 'pad' },
    h('h1', { dir: 'auto' }, 'Health of ', h('a', { href: sessionLink(key) }, info.title || info.id)),
    h('h2', null, 'Problems'), state, plan, h('h2', null, 'Secrets'), secrets));

  /** @param {() => Promise<import('./api.js').Repair>} change @param {string} done */
  async function run(change, done) {
    try {
      const made = await change();
      announce(made.originals ? `${done} The originals are in ${made.originals}.` : done);
      await show();
    } catch (error) { announce(explain(error), 'error'); }
  }

  async function repair() {
    const sure = await confirmDialog('Repair', [h('p', null, 'The steps above are applied. The originals are kept, and the repair can be undone.')], 'Repair');
    if (sure) await run(() => api.repair(key), 'Repaired.');
  }

  async function show() {
    try {
      const found = await api.check(key);
      fill(state, h('p', null, found.findings.length === 0 ? '✓ No problems. ' : `${count(found.findings.length)}${found.more ? ' or more' : ''} findings. `,
        h('span', { class: 'dim' }, `${count(found.files)} files, ${count(found.records)} valid records.`)),
      found.findings.length > 0 ? findingsTable(found.findings) : null);
      fill(plan);
      if (!info.writable) {
        if (found.findings.length > 0) fill(plan, h('p', { class: 'dim' }, 'Sessions of other programs are never changed. ', h('code', null, `everturn repair ${info.id}`), ' writes a repaired copy.'));
        return;
      }
      const undo = h('button', { type: 'button', onclick: () => run(() => api.repairUndo(key), 'The last repair is undone.') }, 'Undo the last repair');
      if (found.findings.length === 0) { fill(plan, undo); return; }
      const { steps } = await api.repairPlan(key);
      fill(plan, h('h3', null, 'Plan of the repair'),
        steps.length === 0 ? h('p', { class: 'dim' }, 'There is nothing that a repair could do.')
          : h('ol', null, ...steps.map(step => h('li', null, h('code', null, step.file), ' ', step.action))),
        h('p', { class: 'buttons' }, steps.length > 0 ? h('button', { type: 'button', class: 'primary', onclick: () => repair() }, 'Repair') : null, undo));
    } catch (error) { fill(state, h('p', { class: 'problem' }, explain(error))); }
  }

  async function scan() {
    try {
      const found = await api.scan(key);
      fill(secrets, found.secrets.length === 0 ? h('p', null, '✓ No secrets found.')
        : h('p', null, `${count(found.secrets.length)}${found.more ? ' or more' : ''} secrets. They are masked here and in exports; `, h('code', null, `everturn scrub ${info.id}`), ' removes them.'),
      h('ul', null, ...found.secrets.slice(0, 200).map(each => h('li', null, h('a', { href: sessionLink(key, each.turn) }, `turn ${each.turn}`), ` ${each.family}, ${each.certainty}`))));
    } catch (error) { fill(secrets, h('p', { class: 'problem' }, explain(error))); }
  }

  await Promise.all([show(), scan()]);
  return { refresh: () => {}, close: () => {} };
}
