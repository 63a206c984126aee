// One session: its text, the timeline, the panels beside it, and what can be done at a turn.

import { api, explain, Problem } from './api.js';
import { makeComposer } from './composer.js';
import { announce, count, debounce, fill, h, timeElement } from './dom.js';
import { attachmentFigure, copy, entryArticle } from './entry_view.js';
import { confirmDialog, openDialog, promptDialog, setCommands } from './keys.js';
import { sessionLink } from './links.js';
import { menuButton } from './menu.js';
import { saw } from './seen.js';
import { SidePanel } from './side_panel.js';
import { changeList } from './state_tree.js';
import { Timeline } from './timeline.js';
import { TurnWindow } from './window_list.js';

const EXPORTS = { md: 'Markdown', html: 'Web page', pdf: 'Book (PDF)', txt: 'Plain text', json: 'Chat log (JSON)' };
/** Formats whose messages have versions. */
const REVISED = new Set(['chatlog']);
/** The most turns whose sizes are drawn. */
const DRAWN = 5000;

/** Whether the address is that of a session. @param {string} key */
function isShown(key) {
  const [, view, shown] = location.hash.split('/');
  return view === 'session' && shown !== undefined && decodeURIComponent(shown) === key;
}

/**
 * @param {HTMLElement} main
 * @param {string} key
 * @param {number | null} start The turn to show; the last one if null.
 * @param {(hash: string) => void} go
 * @returns {Promise<{ refresh: () => void, close: () => void }>}
 */
export async function showSession(main, key, start, go) {
  const [info, abilities] = await Promise.all([api.session(key), api.abilities(key)]);
  let turns = info.turns ?? 0;
  let closed = false;
  /** Whether new turns are shown as they come. */
  let following = start === null || start >= turns;
  /** @type {import('./api.js').Mark[]} */
  let marks = [];
  const first = Math.min(start ?? turns, turns);
  const isCampaign = info.format === 'campaign';
  saw(info);

  const column = new TurnWindow({ turns, load: articles, failed: error => announce(explain(error), 'error') });
  const timeline = new Timeline({ turns, turn: first, ticks: [], changed: debounce(40, turn => {
    follow(turn >= turns);
    showTurn(turn);
    side.show();
    remember(turn);
  }) });
  const side = new SidePanel({
    key, abilities, campaign: isCampaign && info.status !== 'archived', go, turn: () => timeline.turn, turns: () => turns,
    show: turn => timeline.set(turn), played: () => refresh(), marks: () => marks,
    unmark: mark => attempt(async () => { await api.unmark(key, mark.id); await loadMarks(); side.show(); }),
  });
  /** Whether the last scrolling was done by hand. The app scrolls too, and that must not choose another turn. */
  let byHand = false;
  const hand = () => { byHand = true; };
  const text = h('div', {
    class: 'text', tabIndex: 0, 'aria-label': 'Text', role: 'region', onscroll: debounce(150, scrolled),
    onwheel: hand, ontouchmove: hand, onkeydown: hand, onpointerdown: hand,
  }, column.element);
  const turnCount = h('span', { class: 'dim' });
  const followButton = h('button', { type: 'button', 'aria-pressed': String(following), onclick: () => { follow(!following); if (following) timeline.set(turns); } }, 'Follow');
  const composer = info.writable && info.status !== 'completed'
    ? makeComposer({ key, format: info.format, keys: info.keys, turns: () => turns, sent: async () => { follow(true); await refresh(); timeline.set(turns); }, attempt }) : null;
  const sideToggle = h('button', { type: 'button', class: 'side-toggle', 'aria-expanded': 'false', onclick: () => toggleSide() }, 'Panels');
  const title = h('h1', { dir: 'auto' }, info.title || info.id);
  const root = h('section', { class: 'session' },
    h('div', { class: 'head' },
      title,
      h('span', { class: 'badge' }, info.format), h('span', { class: 'badge' }, info.status), turnCount,
      h('span', { class: 'dim' }, timeElement(info.updated)),
      info.writable ? null : h('span', { class: 'badge' }, 'read-only'),
      h('div', { class: 'buttons' }, followButton, ...buttons(), sideToggle)),
    text, side.element,
    h('div', { class: 'foot' }, timeline.element, composer));
  fill(main, root);
  showCount();

  setCommands('view', [
    { name: 'Next turn', key: 'j', run: () => timeline.step(1) },
    { name: 'Previous turn', key: 'k', run: () => timeline.step(-1) },
    { name: 'Ten turns on', key: 'J', run: () => timeline.step(10) },
    { name: 'Ten turns back', key: 'K', run: () => timeline.step(-10) },
    { name: 'First turn', key: 'g', run: () => timeline.set(0) },
    { name: 'Last turn', key: 'G', run: () => timeline.set(turns) },
    { name: 'Next mark', key: ']', run: () => nextMark(1) },
    { name: 'Previous mark', key: '[', run: () => nextMark(-1) },
    { name: 'Play or pause', key: ' ', run: () => timeline.toggle() },
    { name: 'Follow new turns', key: 'F', run: () => followButton.click() },
    { name: 'Open or close what tools did', key: 'o', run: () => toggleFolds() },
    { name: 'Copy a link to this turn', key: 'y', run: () => copy(`${location.origin}/${sessionLink(key, timeline.turn)}`) },
    { name: 'Copy the command for a terminal', run: () => copyCommand() },
    { name: 'What a model would see', run: () => showContext() },
    ...side.names.map((name, index) => ({ name: `Show ${name.toLowerCase()}`, key: String(index + 1), run: () => { side.choose(name); } })),
    ...(info.writable ? [
      { name: 'Add a bookmark here', key: 'm', run: () => addMark() },
      { name: 'Write', key: 'i', run: () => composer?.querySelector('textarea')?.focus() },
      { name: 'Fork from this turn', key: 'f', run: () => fork() },
      { name: 'Rewind to this turn', key: 'r', run: () => rewind() },
      { name: 'Undo the last turn', key: 'u', run: () => undo() },
      { name: 'Rename this session', key: 'e', run: () => rename() },
    ] : []),
  ]);

  function buttons() {
    const download = menuButton('Export', () => [
      ...Object.entries(EXPORTS).map(([format, name]) => ({ name, href: `/api/v1/sessions/${encodeURIComponent(key)}/export?format=${format}` })),
      { name: 'Preview as text', run: () => preview() },
      { name: 'Copy the command for a terminal', run: () => copyCommand() },
    ]);
    if (!info.writable) return [download];
    return [
      h('button', { type: 'button', class: 'wide-only', onclick: () => fork() }, 'Fork here'),
      h('button', { type: 'button', class: 'wide-only', onclick: () => rewind() }, 'Rewind here'),
      h('button', { type: 'button', class: 'wide-only', onclick: () => addMark() }, 'Bookmark'),
      download,
      menuButton('More', () => [
        { name: 'Fork from this turn', run: () => fork() },
        { name: 'Rewind to this turn', run: () => rewind() },
        { name: 'Add a bookmark here', run: () => addMark() },
        { name: 'Rename', run: () => rename() },
        { name: 'Undo the last turn', run: () => undo() },
        { name: info.status === 'paused' ? 'Resume' : 'Pause', run: () => changeStatus(info.status === 'paused' ? 'resume' : 'pause') },
        { name: 'Complete', run: () => changeStatus('complete') },
        { name: 'Check for problems', href: `#/check/${encodeURIComponent(key)}` },
        { name: 'What a model would see', run: () => showContext() },
      ]),
    ];
  }

  function toggleSide() {
    const shown = root.classList.toggle('side-shown');
    sideToggle.setAttribute('aria-expanded', String(shown));
  }

  /** @param {boolean} on */
  function follow(on) {
    following = on;
    followButton.setAttribute('aria-pressed', String(on));
  }

  function showCount() {
    turnCount.textContent = `${count(turns)} ${turns === 1 ? 'turn' : 'turns'}`;
  }

  /** @param {number} turn */
  function remember(turn) {
    // The address may already be that of another view, which is shown a moment later.
    if (!closed && isShown(key)) history.replaceState(null, '', sessionLink(key, turn));
  }

  /** @param {number} turn */
  async function showTurn(turn) {
    byHand = false;
    await column.show(turn);
    highlight();
  }

  function highlight() {
    for (const node of column.element.querySelectorAll('.current')) node.classList.remove('current');
    for (const node of column.element.querySelectorAll(`[data-turn="${timeline.turn}"]`)) node.classList.add('current');
  }

  /** @param {number} from @param {number} to @returns {Promise<Node[]>} */
  async function articles(from, to) {
    /** @type {Node[]} */
    const nodes = [];
    /** @type {string | null} */
    let cursor = null;
    do {
      /** @type {{ entries: import('./api.js').Entry[], next: string | null }} */
      const page = await api.entries(key, { from, to, limit: 500, cursor, raw: REVISED.has(info.format) || null });
      nodes.push(...page.entries.map(entry => entryArticle(entry, sessionLink(key, entry.turn), revisions(entry))));
      cursor = page.next;
    } while (cursor);
    // Pictures come when the text is there.
    api.attachments(key, from, to).then(({ attachments }) => {
      for (const each of attachments) {
        const article = nodes.find(node => node instanceof HTMLElement && node.dataset.seq === String(each.seq));
        if (article instanceof HTMLElement) article.append(attachmentFigure(key, each));
      }
    }, () => {});
    return nodes;
  }

  /** The buttons of a message that can be revised. @param {import('./api.js').Entry} entry */
  function revisions(entry) {
    if (!REVISED.has(info.format) || !info.writable) return [];
    const others = entry.raw?.metadata?.regeneration_history?.length ?? 0;
    /** @param {object} body @param {string} done */
    const revise = (body, done) => attempt(async () => { await api.revise(key, body, null); announce(done); column.refresh(); await refresh(); });
    return [
      others > 0 ? h('button', { type: 'button', class: 'ghost', 'aria-label': `Next version of turn ${entry.turn}`, onclick: () => revise({ change: 'choose', turn: entry.turn, version: 1 }, 'Another version') }, `⟳ ${others + 1} versions`) : null,
      h('button', { type: 'button', class: 'ghost', 'aria-label': `Edit turn ${entry.turn}`, onclick: async () => {
        const made = await longPrompt('Edit', entry.text);
        if (made !== null) revise({ change: 'edit', turn: entry.turn, text: made }, 'Edited; the previous text is kept');
      } }, 'Edit'),
      h('button', { type: 'button', class: 'ghost', 'aria-label': `Write another version of turn ${entry.turn}`, onclick: async () => {
        const made = await longPrompt('Another version', '');
        if (made) revise({ change: 'regenerate', turn: entry.turn, text: made }, 'Another version; the others are kept');
      } }, 'Swipe'),
    ];
  }

  function scrolled() {
    if (!byHand) return;
    const atEnd = text.scrollTop + text.clientHeight >= text.scrollHeight - 2;
    const turn = atEnd ? turns : column.current();
    follow(atEnd);
    if (turn === null || turn === timeline.turn) return;
    timeline.follow(turn);
    highlight();
    side.show();
    remember(turn);
  }

  function toggleFolds() {
    const folds = /** @type {NodeListOf<HTMLDetailsElement>} */ (column.element.querySelectorAll('details.fold'));
    const open = [...folds].some(each => !each.open);
    folds.forEach(each => { each.open = open; });
  }

  /** @param {number} step */
  function nextMark(step) {
    const places = [...new Set(marks.map(mark => mark.turn))].sort((one, two) => one - two);
    const next = step > 0 ? places.find(turn => turn > timeline.turn) : places.findLast(turn => turn < timeline.turn);
    if (next === undefined) announce('There is no further mark.'); else timeline.set(next);
  }

  async function loadMarks() {
    ({ marks } = await api.marks(key).catch(() => ({ marks: [] })));
    const ticks = marks.map(mark => ({ turn: mark.turn, kind: mark.kind, name: mark.name }));
    timeline.setTicks(ticks);
    if (turns > DRAWN) return;
    // Sizes, scenes and snapshots need a reading of the whole session, so they come later.
    const found = await api.timeline(key, 0, Math.min(turns, 999)).catch(() => null);
    if (!found || closed) return;
    const scenes = found.turns.filter(each => each.scene).map(each => ({ turn: each.turn, kind: 'scene', name: `Scene at turn ${each.turn}` }));
    const snapshots = found.turns.filter(each => each.snapshot).map(each => ({ turn: each.turn, kind: 'snapshot', name: `Snapshot at turn ${each.turn}` }));
    timeline.setTicks([...snapshots, ...scenes, ...ticks], found.turns);
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
    side.show();
  });

  const rename = () => attempt(async () => {
    const name = await promptDialog('Rename', 'Title', info.title);
    if (!name) return;
    await api.rename(key, name);
    info.title = name;
    title.textContent = name;
    announce('Renamed');
  });

  /** @param {'pause' | 'resume' | 'complete'} stage */
  const changeStatus = stage => attempt(async () => {
    if (stage === 'complete' && !await confirmDialog('Complete', [h('p', null, 'A completed session takes no further turns. It can still be read, forked and exported.')], 'Complete')) return;
    await api.change(key, stage);
    announce('Done');
    go(sessionLink(key));
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
    // What will be different, before it is.
    const { changes } = await api.diff(key, turn, turns).catch(() => ({ changes: [] }));
    const { entries } = await api.entries(key, { from: turn + 1, to: turns, limit: 5 });
    const sure = await confirmDialog('Rewind', [
      h('p', null, `The session goes back to turn ${turn}. The last ${gone === 1 ? 'turn moves' : `${gone} turns move`} to a branch, and nothing is lost.`),
      h('details', null, h('summary', null, 'The turns of the branch'), h('ul', null, ...entries.map(entry => h('li', { dir: 'auto' }, `#${entry.turn} ${entry.speaker}: ${entry.text.slice(0, 120)}`)))),
      changes.length > 0 ? h('details', null, h('summary', null, `${changes.length} changes of the state are taken back`), changeList(changes.slice(0, 100))) : '',
    ], 'Rewind');
    if (!sure) return;
    const { branch } = await api.rewind(key, turn, turns);
    announce(`Rewound to turn ${turn}. The other turns are in ${branch}.`, 'info', { name: 'Open the branch', run: () => go(sessionLink(branch)) });
    go(sessionLink(key, turn));
  });

  const undo = () => attempt(async () => {
    if (isCampaign) await api.play(key, { do: 'undo', turns: 1 }); else await api.undo(key, turns);
    announce('Undone with a new turn.');
    await refresh();
  });

  function copyCommand() {
    return copy(`everturn show ${info.id}#${timeline.turn}`);
  }

  const preview = () => attempt(async () => {
    const response = await fetch(`/api/v1/sessions/${encodeURIComponent(key)}/export?format=txt`);
    if (!response.ok) throw new Problem(response.status, await response.json().catch(() => ({})));
    const whole = await response.text();
    openDialog('Preview of the export', h('h2', null, 'Preview of the export'),
      h('pre', { class: 'preview', tabIndex: 0, role: 'region', 'aria-label': 'Preview' }, whole.slice(0, 20_000), whole.length > 20_000 ? '\n…' : ''),
      h('p', { class: 'buttons' }, ...Object.entries(EXPORTS).map(([format, name]) => h('a', { class: 'button', href: `/api/v1/sessions/${encodeURIComponent(key)}/export?format=${format}` }, name))));
  });

  const showContext = () => attempt(async () => {
    const { showContextDialog } = await import('./context_view.js');
    await showContextDialog(key);
  });

  let refreshing = Promise.resolve();
  /** Refreshes follow each other. */
  function refresh() {
    refreshing = refreshing.then(update, update);
    return refreshing;
  }

  async function update() {
    if (closed) return;
    const now = await api.session(key);
    const before = turns;
    turns = now.turns ?? turns;
    if (now.status !== info.status && !document.querySelector('dialog[open]')) info.status = now.status;
    saw(now);
    showCount();
    const stay = timeline.turn;
    timeline.grow(turns);
    if (!following) timeline.follow(Math.min(stay, turns));
    column.grow(turns);
    if (turns < before) column.refresh();
    if (following && turns > before) {
      timeline.follow(turns);
      await showTurn(turns);
    }
    await loadMarks();
    side.show();
  }

  loadMarks();
  await showTurn(first);
  side.show();
  text.focus({ preventScroll: true });
  return {
    refresh: () => { refresh().catch(error => announce(explain(error), 'error')); },
    close: () => { closed = true; side.close(); timeline.stop(); column.close(); },
  };
}

/** Asks for a longer text. @param {string} title @param {string} value @returns {Promise<string | null>} */
function longPrompt(title, value) {
  return new Promise(resolve => {
    const area = h('textarea', { id: 'long-value', rows: 8, value, dir: 'auto' });
    const dialog = openDialog(title, h('form', { method: 'dialog', onsubmit: () => { dialog.returnValue = 'yes'; } },
      h('h2', null, title), h('label', { for: 'long-value' }, 'Text'), area,
      h('p', { class: 'buttons' }, h('button', { class: 'primary', value: 'yes' }, 'Save'), h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'))));
    dialog.addEventListener('close', () => resolve(dialog.returnValue === 'yes' ? area.value : null));
    area.focus();
  });
}
