// The panels beside a text: the state at a turn, its changes, a search within states, branches, marks, and the table of a
// campaign.

import { api, explain } from './api.js';
import { branchGraph } from './branch_graph.js';
import { announce, count, fill, h } from './dom.js';
import { compared, sessionLink } from './links.js';
import { campaignTable } from './play_panel.js';
import { changeList, shortValue, stateTree } from './state_tree.js';

/** @typedef {'Table' | 'State' | 'Changes' | 'Find' | 'Branches' | 'Marks'} TabName */

/**
 * @typedef {object} SideOptions
 * @property {string} key
 * @property {boolean} campaign
 * @property {{ state: boolean, history: boolean }} abilities
 * @property {() => number} turn The turn that is shown.
 * @property {() => number} turns The last turn.
 * @property {(turn: number) => void} show Shows a turn.
 * @property {(hash: string) => void} go
 * @property {() => void} played Called when the campaign was changed.
 * @property {() => import('./api.js').Mark[]} marks
 * @property {(mark: import('./api.js').Mark) => void} unmark
 */

export class SidePanel {
  /** @param {SideOptions} options */
  constructor(options) {
    this.options = options;
    /** @type {TabName[]} */
    this.names = [...(options.campaign ? /** @type {TabName[]} */ (['Table']) : []), ...(options.abilities.state ? /** @type {TabName[]} */ (['State']) : []),
      ...(options.abilities.history ? /** @type {TabName[]} */ (['Changes', 'Find']) : []), 'Branches', 'Marks'];
    this.tab = this.names[0];
    this.request = new AbortController();
    /** @type {import('./state_tree.js').OpenPaths} */
    this.open = new Set();
    /** The turn that changes are counted from; the one before if null. @type {number | null} */
    this.from = null;
    this.panel = h('div', { role: 'tabpanel', id: 'panel', 'aria-labelledby': 'tab-0', tabIndex: 0 });
    this.tabs = this.names.map((name, index) => h('button', {
      type: 'button', role: 'tab', id: `tab-${index}`, 'aria-controls': 'panel', onclick: () => this.choose(name),
    }, name));
    this.element = h('aside', { class: 'side', 'aria-label': 'State and branches' },
      h('div', { class: 'tabs', role: 'tablist', 'aria-label': 'Panels', onkeydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event) }, ...this.tabs), this.panel);
    this.mark();
  }

  mark() {
    this.tabs.forEach((button, index) => {
      const chosen = this.names[index] === this.tab;
      button.setAttribute('aria-selected', String(chosen));
      button.tabIndex = chosen ? 0 : -1;
      if (chosen) this.panel.setAttribute('aria-labelledby', button.id);
    });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    const at = (this.names.indexOf(this.tab) + step + this.names.length) % this.names.length;
    this.choose(this.names[at]);
    this.tabs[at].focus();
    event.preventDefault();
    event.stopPropagation();
  }

  /** @param {TabName} name */
  choose(name) {
    this.tab = name;
    this.mark();
    return this.show();
  }

  /** Shows the panel for the present turn. */
  async show() {
    this.request.abort();
    this.request = new AbortController();
    const { signal } = this.request;
    try {
      const content = await this.content(this.options.turn(), signal);
      if (!signal.aborted && content) fill(this.panel, ...content);
    } catch (error) {
      if (!signal.aborted) fill(this.panel, h('p', { class: 'dim' }, explain(error)));
    }
  }

  /**
   * @param {number} turn
   * @param {AbortSignal} signal
   * @returns {Promise<Node[] | null>}
   */
  async content(turn, signal) {
    const { key } = this.options;
    if (this.tab === 'Table') return campaignTable(key, this.options.played);
    if (this.tab === 'Branches') return this.branches(turn);
    if (this.tab === 'Marks') return this.marks();
    if (this.tab === 'Find') return this.panel.querySelector('form.find') ? null : this.find();
    const label = h('p', { class: 'dim' }, `As of turn ${turn}`);
    const from = this.tab === 'Changes' && this.from !== null ? Math.min(this.from, turn) : turn - 1;
    const to = this.tab === 'Changes' && this.from !== null ? Math.max(this.from, turn) : turn;
    const changes = this.options.abilities.history && to > 0 && from < to ? (await api.diff(key, Math.max(0, from), to, signal)).changes : [];
    if (this.tab === 'Changes') return [this.between(turn), changeList(changes)];
    const { state } = await api.state(key, turn, signal);
    return [label, stateTree(state, changes, this.open)];
  }

  /** @param {number} turn */
  between(turn) {
    if (this.from === null) {
      return h('p', { class: 'dim' }, `As of turn ${turn}, since turn ${Math.max(0, turn - 1)}. `,
        h('button', { type: 'button', onclick: () => { this.from = turn; this.show(); } }, `Compare from turn ${turn}`));
    }
    return h('p', { class: 'dim' }, `Between turn ${Math.min(this.from, turn)} and turn ${Math.max(this.from, turn)}; move to choose the other turn. `,
      h('button', { type: 'button', onclick: () => { this.from = null; this.show(); } }, 'One turn only'));
  }

  /** A search within states: when did a value change? */
  find() {
    const path = h('input', { id: 'find-path', placeholder: 'luna.trust', autocomplete: 'off', spellcheck: false });
    const value = h('input', { id: 'find-value', placeholder: 'any', autocomplete: 'off', spellcheck: false });
    const found = h('div', { role: 'status' });
    const look = async () => {
      try {
        const { changes, more } = await api.changes(this.options.key, { path: path.value.trim(), value: value.value.trim(), limit: 200 });
        fill(found, changes.length === 0 ? h('p', { class: 'dim' }, 'No turn changed that.')
          : h('ol', { class: 'found' }, ...changes.map(each => h('li', null,
            h('button', { type: 'button', onclick: () => this.options.show(each.turn) }, `turn ${each.turn}`), ' ',
            h('code', null, each.path), ' ',
            each.previous === null || each.previous === undefined ? null : h('del', null, shortValue(each.previous)), ' ',
            each.value === null || each.value === undefined ? h('span', { class: 'dim' }, each.op) : h('ins', null, shortValue(each.value))))),
        more ? h('p', { class: 'dim' }, 'There are more.') : null);
      } catch (error) { fill(found, h('p', { class: 'dim' }, explain(error))); }
    };
    return [h('form', { class: 'find', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); look(); } },
      h('label', { for: 'find-path' }, 'When did'), path, h('label', { for: 'find-value' }, 'become'), value,
      h('button', { class: 'primary' }, 'Find')), found];
  }

  /** @param {number} turn */
  async branches(turn) {
    const { key, go } = this.options;
    const { nodes, warnings } = await api.graph(key);
    if (nodes.length < 2) return [h('p', { class: 'dim' }, 'No branches. Fork here to try something else from this turn.')];
    const link = (/** @type {import('./api.js').GraphNode} */ node) => sessionLink(node.session);
    const current = nodes.find(node => node.current);
    return [branchGraph(nodes, turn, {
      link,
      open: node => (node.branch ? go(`#/compare/${compared(key)}/${compared(node.session, node.branch)}`) : go(link(node))),
      compare: node => { if (current && node !== current) go(`#/compare/${compared(key)}/${compared(node.session, node.branch)}`); },
    }), ...warnings.map(text => h('p', { class: 'dim' }, text))];
  }

  marks() {
    const marks = this.options.marks();
    if (marks.length === 0) return [h('p', { class: 'dim' }, 'No marks. Press m to bookmark this turn.')];
    return [h('ol', { class: 'found' }, ...marks.map(mark => h('li', null,
      h('button', { type: 'button', onclick: () => this.options.show(mark.turn) }, `turn ${count(mark.turn)}`), ' ',
      h('span', { dir: 'auto' }, mark.name || mark.kind), h('span', { class: 'dim' }, ` ${mark.kind}`),
      h('button', { type: 'button', class: 'ghost', 'aria-label': `Remove the mark ${mark.name}`, onclick: () => { this.options.unmark(mark); announce('Mark removed'); } }, '×'))))];
  }

  close() {
    this.request.abort();
  }
}
