// One session: its text, the timeline, the state at a turn, changes, branches and marks.

import { api, explain, Problem } from './api.js';
import { branchGraph } from './branch_graph.js';
import { announce, count, debounce, fill, h, timeElement } from './dom.js';
import { entryArticle } from './entry_view.js';
import { confirmDialog, promptDialog, setCommands } from './keys.js';
import { changeList, stateTree } from './state_tree.js';
import { Timeline } from './timeline.js';
import { TurnWindow } from './window_list.js';

const TABS = /** @type {const} */ (['State', 'Changes', 'Branches', 'Marks']);

/** @param {string} key @param {number} [turn] */
export const sessionLink = (key, turn) => `#/session/${encodeURIComponent(key)}${turn === undefined ? '' : `/turn/${turn}`}`;

/**
 * Whether the address is that of a session.
 *
 * @param {string} key
 */
function isShown(key) {
  const [, view, shown] = location.hash.split('/');
  return view === 'session' && shown !== undefined && decodeURIComponent(shown) === key;
}

/** What a message looks like in each format. */
const MESSAGES = /** @type {Record<string, (text: string) => object>} */ ({
  game: text => ({ actor: 'player', narration: text }),
  chatlog: text => ({ type: 'user', content: text }),
  codelia: text => ({ role: 'user', content: text }),
  linggen: text => ({ role: 'user', content: text }),
});

/**
 * @param {HTMLElement} main
 * @param {string} key
 * @param {number | null} start The turn to show; the last one if null.
 * @param {(hash: string) => void} go
 * @returns {Promise<{ refresh: () => void, close: () => void }>}
 */
export async function showSession(main, key, start, go) {
  const info = await api.session(key);
  let turns = info.turns ?? 0;
  /** @type {typeof TABS[number]} */
  let tab = 'State';
  let request = new AbortController();
  let closed = false;
  /** @type {import('./state_tree.js').OpenPaths} */
  const open = new Set();
  /** @type {import('./api.js').Mark[]} */
  let marks = [];
  const first = Math.min(start ?? turns, turns);

  const column = new TurnWindow({ turns, load: articles, failed: error => announce(explain(error), 'error') });
  const timeline = new Timeline({ turns, turn: first, ticks: [], changed: debounce(40, turn => { showTurn(turn); showSide(); remember(turn); }) });
  /** Whether the last scrolling was done by hand. The app scrolls too, and that must not choose another turn. */
  let byHand = false;
  const hand = () => { byHand = true; };
  const text = h('div', {
    class: 'text', tabIndex: 0, 'aria-label': 'Text', role: 'region', onscroll: debounce(150, scrolled),
    onwheel: hand, ontouchmove: hand, onkeydown: hand, onpointerdown: hand,
  }, column.element);
  const panel = h('div', { role: 'tabpanel', id: 'panel', 'aria-label': tab });
  const tabs = TABS.map(name => h('button', {
    type: 'button', role: 'tab', 'aria-controls': 'panel', 'aria-selected': String(name === tab), onclick: () => choose(name),
  }, name));
  const turnCount = h('span', { class: 'dim' });
  const composer = info.writable && info.format in MESSAGES && info.status !== 'completed' ? makeComposer() : null;
  fill(main, h('section', { class: 'session' },
    h('div', { class: 'head' },
      h('h1', { dir: 'auto' }, info.title || info.id),
      h('span', { class: 'badge' }, info.format), h('span', { class: 'badge' }, info.status), turnCount,
      h('span', { class: 'dim' }, timeElement(info.updated)),
      h('div', { class: 'buttons' }, ...buttons())),
    text,
    h('aside', { class: 'side', 'aria-label': 'State and branches' }, h('div', { class: 'tabs', role: 'tablist' }, ...tabs), panel),
    h('div', { class: 'foot' }, timeline.element, composer)));
  showCount();

  setCommands('view', [
    { name: 'Next turn', key: 'j', run: () => timeline.step(1) },
    { name: 'Previous turn', key: 'k', run: () => timeline.step(-1) },
    { name: 'First turn', key: 'g', run: () => timeline.set(0) },
    { name: 'Last turn', key: 'G', run: () => timeline.set(turns) },
    { name: 'Play or pause', key: ' ', run: () => timeline.toggle() },
    { name: 'Add a bookmark here', key: 'm', run: () => addMark() },
    ...TABS.map((name, index) => ({ name: `Show ${name.toLowerCase()}`, key: String(index + 1), run: () => choose(name) })),
    ...(info.writable ? [
      { name: 'Fork from this turn', key: 'f', run: () => fork() },
      { name: 'Rewind to this turn', key: 'r', run: () => rewind() },
      { name: 'Undo the last turn', key: 'u', run: () => undo() },
    ] : []),
  ]);

  function buttons() {
    if (!info.writable) return [h('span', { class: 'dim' }, 'read-only')];
    return [
      h('button', { type: 'button', onclick: () => fork() }, 'Fork here'),
      h('button', { type: 'button', onclick: () => rewind() }, 'Rewind here'),
      h('button', { type: 'button', onclick: () => addMark() }, 'Bookmark'),
    ];
  }

  function showCount() {
    turnCount.textContent = `${count(turns)} turns`;
  }

  /** @param {number} turn */
  function remember(turn) {
    // The address may already be that of another view, which is shown a moment later.
    if (!closed && isShown(key)) history.replaceState(null, '', sessionLink(key, turn));
  }

  /** @param {number} turn */
  function showTurn(turn) {
    byHand = false;
    return column.show(turn);
  }

  /**
   * @param {number} from
   * @param {number} to
   * @returns {Promise<Node[]>}
   */
  async function articles(from, to) {
    /** @type {Node[]} */
    const nodes = [];
    /** @type {string | null} */
    let cursor = null;
    do {
      /** @type {{ entries: import('./api.js').Entry[], next: string | null }} */
      const page = await api.entries(key, { from, to, limit: 500, cursor });
      nodes.push(...page.entries.map(entry => entryArticle(entry, sessionLink(key, entry.turn))));
      cursor = page.next;
    } while (cursor);
    return nodes;
  }

  function scrolled() {
    if (!byHand) return;
    const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 2;
    const turn = atEnd ? turns : column.current();
    if (turn === null || turn === timeline.turn) return;
    timeline.follow(turn);
    showSide();
  }

  /** @param {typeof TABS[number]} name */
  function choose(name) {
    tab = name;
    tabs.forEach(button => button.setAttribute('aria-selected', String(button.textContent === name)));
    panel.setAttribute('aria-label', name);
    showSide();
  }

  async function showSide() {
    request.abort();
    request = new AbortController();
    const { signal } = request;
    const turn = timeline.turn;
    for (const node of column.element.querySelectorAll('.current')) node.classList.remove('current');
    for (const node of column.element.querySelectorAll(`[data-turn="${turn}"]`)) node.classList.add('current');
    try {
      const content = await side(turn, signal);
      if (!signal.aborted) fill(panel, ...content);
    } catch (error) {
      if (!signal.aborted) fill(panel, h('p', { class: 'dim' }, explain(error)));
    }
  }

  /**
   * @param {number} turn
   * @param {AbortSignal} signal
   * @returns {Promise<Node[]>}
   */
  async function side(turn, signal) {
    const label = h('p', { class: 'dim' }, `As of turn ${turn}`);
    if (tab === 'Branches') return branchPanel(turn);
    if (tab === 'Marks') return [markPanel()];
    const changes = turn > 0 ? (await api.diff(key, turn - 1, turn, signal)).changes : [];
    if (tab === 'Changes') return [label, changeList(changes)];
    const { state } = await api.state(key, turn, signal);
    return [label, stateTree(state, changes, open)];
  }

  /** @param {number} turn */
  async function branchPanel(turn) {
    const { branches, forks } = await api.branches(key);
    const main = { id: info.id, title: info.title, from: 0, turns, href: null };
    const lanes = branches.map(each => ({ id: each.id, title: each.title || each.id, from: each.from ?? 0, turns: each.turns, href: null }));
    const others = await Promise.all(forks.map(id => api.session(id).catch(() => null)));
    for (const fork of others) {
      if (fork) lanes.push({ id: fork.id, title: fork.title || fork.id, from: 0, turns: fork.turns ?? 0, href: /** @type {any} */ (sessionLink(fork.key)) });
    }
    if (lanes.length === 0) return [h('p', { class: 'dim' }, 'No branches. Fork here to try something else from this turn.')];
    return [branchGraph(main, lanes, turn)];
  }

  function markPanel() {
    if (marks.length === 0) return h('p', { class: 'dim' }, 'No marks. Press m to bookmark this turn.');
    return h('ol', null, ...marks.map(mark => h('li', null,
      h('button', { type: 'button', onclick: () => timeline.set(mark.turn) }, mark.name || mark.kind),
      h('span', { class: 'dim' }, ` turn ${mark.turn}, ${mark.kind}`))));
  }

  async function loadMarks() {
    ({ marks } = await api.marks(key).catch(() => ({ marks: [] })));
    timeline.setTicks(marks.map(mark => ({ turn: mark.turn, kind: mark.kind, name: mark.name })));
  }

  /** @param {() => Promise<void>} change */
  async function attempt(change) {
    try {
      await change();
    } catch (error) {
      const stale = error instanceof Problem && (error.status === 412 || error.code === 'conflict');
      announce(stale ? `This session was changed elsewhere first. ${explain(error)}` : explain(error), 'error');
      if (stale) refresh();
    }
  }

  const addMark = () => attempt(async () => {
    const turn = timeline.turn;
    const name = await promptDialog('Add a bookmark', `Name of the bookmark at turn ${turn}`, '');
    if (name === null) return;
    await api.mark(key, name, turn);
    announce(`Bookmarked turn ${turn}`);
    await loadMarks();
    showSide();
  });

  const fork = () => attempt(async () => {
    const made = await api.fork(key, timeline.turn);
    announce(`Forked as ${made.session}`);
    go(sessionLink(made.session));
  });

  const rewind = () => attempt(async () => {
    const turn = timeline.turn;
    if (turn >= turns) { announce('This is already the last turn.'); return; }
    const gone = turns - turn;
    const sure = await confirmDialog('Rewind', [h('p', null,
      `The session goes back to turn ${turn}. The last ${gone} turns move to a branch, and nothing is lost.`)], 'Rewind');
    if (!sure) return;
    const { branch } = await api.rewind(key, turn, turns);
    announce(`Rewound to turn ${turn}. The other turns are in ${branch}.`);
    go(sessionLink(key, turn));
  });

  const undo = () => attempt(async () => {
    await api.undo(key, turns);
    announce('Undone with a new turn.');
    await refresh();
  });

  function makeComposer() {
    const draftKey = `draft:${key}`;
    const area = h('textarea', {
      'aria-label': 'Message', placeholder: 'Write the next turn', rows: 1, value: localStorage.getItem(draftKey) ?? '',
      dir: 'auto', oninput: () => localStorage.setItem(draftKey, area.value),
      onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); send(); }
      },
    });
    const button = h('button', { class: 'primary', type: 'submit' }, 'Send');
    /** The key of the message that is being sent: a message that is sent again is stored once. */
    let id = crypto.randomUUID();
    const send = () => attempt(async () => {
      if (!area.value.trim()) return;
      button.disabled = true;
      try {
        await api.append(key, MESSAGES[info.format](area.value), turns, info.keys ? id : null);
        id = crypto.randomUUID();
        area.value = '';
        localStorage.removeItem(draftKey);
        await refresh();
        timeline.set(turns);
      } finally { button.disabled = false; }
    });
    return h('form', { class: 'composer', onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); send(); } }, area, button);
  }

  async function refresh() {
    const now = await api.session(key);
    const before = turns;
    turns = now.turns ?? turns;
    const following = timeline.turn === before;
    showCount();
    timeline.grow(turns);
    column.grow(turns);
    if (turns < before) column.refresh();
    if (following && turns > before) showTurn(turns);
    await loadMarks();
    showSide();
  }

  await loadMarks();
  await showTurn(first);
  showSide();
  text.focus({ preventScroll: true });
  return {
    refresh: () => { refresh().catch(error => announce(explain(error), 'error')); },
    close: () => { closed = true; request.abort(); timeline.stop(); column.close(); },
  };
}
