// The app: routes, theme, global keys, live updates.
//
// `#/` is the list, `#/session/KEY` and `#/session/KEY/turn/N` a session, `#/compare/KEY/KEY` two of them, `#/search/TEXT` a
// search, `#/stats` the costs, `#/check/KEY` the health of a session, `#/retention` and `#/trash` what their names say.

import { explain, Problem } from './api.js';
import { showRetention, showStats } from './care_view.js';
import { showComparison } from './compare_view.js';
import { announce, fill, h } from './dom.js';
import { showHealth } from './health_view.js';
import { listen, openHelp, openPalette, promptDialog, setCommands } from './keys.js';
import { sessionLink } from './links.js';
import { showSearch } from './search_view.js';
import { showSession } from './session_view.js';
import { showSessions } from './sessions_view.js';
import { showTrash } from './trash_view.js';

const THEMES = ['system', 'light', 'dark', 'contrast'];
const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const live = /** @type {HTMLElement} */ (document.getElementById('live'));

/** @type {{ refresh: () => void, close: () => void } | null} */
let view = null;
let visit = 0;

/** @param {string} hash */
function go(hash) {
  if (location.hash === hash) show();
  else location.hash = hash;
}

/** @param {string[]} parts */
async function makeView(parts) {
  const [name, one, two, three] = parts;
  follow(name === 'session' && one ? `/api/v1/sessions/${encodeURIComponent(one)}/events` : '/api/v1/events');
  if (name === 'search') return showSearch(main, one ?? '');
  if (name === 'stats') return showStats(main, one ?? 'day');
  if (name === 'retention') return showRetention(main);
  if (name === 'trash') return showTrash(main);
  if (name === 'check' && one) return showHealth(main, one);
  if (name === 'session' && one) return showSession(main, one, three === undefined ? null : Number(three), go);
  if (name === 'compare' && one && two) return showComparison(main, one, two);
  return showSessions(main, key => go(sessionLink(key)));
}

async function show() {
  visit += 1;
  const mine = visit;
  view?.close();
  view = null;
  setCommands('view', []);
  const parts = location.hash.replace(/^#\/?/, '').split('/').map(part => {
    try { return decodeURIComponent(part); } catch { return part; }
  }).filter(Boolean);
  for (const link of document.querySelectorAll('nav.main a')) {
    const name = link.getAttribute('href')?.slice(2) ?? '';
    if (name === (parts[0] ?? '')) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
  }
  main.setAttribute('aria-busy', 'true');
  try {
    const made = await makeView(parts);
    if (mine === visit) view = made; else made.close();
    if (mine === visit) document.title = `${main.querySelector('h1')?.textContent ?? ''} – Everturn`;
  } catch (error) {
    if (mine === visit) showProblem(error);
  }
  if (mine === visit) main.setAttribute('aria-busy', 'false');
}

/** @param {unknown} error */
function showProblem(error) {
  fill(main, h('div', { class: 'empty' }, h('h1', null, 'This cannot be shown'), h('p', null, explain(error)),
    error instanceof Problem && error.status === 401
      ? h('p', null, 'Open the URL that ', h('code', null, 'everturn serve'), ' has printed. A new one is printed with each start.')
      : h('p', { class: 'buttons center' }, h('button', { type: 'button', onclick: () => show() }, 'Try again'), h('a', { class: 'button', href: '#/' }, 'All sessions'))));
}

function nextTheme() {
  const before = localStorage.getItem('theme') ?? 'system';
  const theme = THEMES[(THEMES.indexOf(before) + 1) % THEMES.length];
  localStorage.setItem('theme', theme);
  applyTheme();
  announce(`Theme: ${theme}`);
}

function applyTheme() {
  const theme = localStorage.getItem('theme') ?? 'system';
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

async function compare() {
  const parts = location.hash.split('/');
  if (parts[1] !== 'session') { announce('Open a session first.'); return; }
  const other = await promptDialog('Compare', 'ID of the other session', '');
  if (other) go(`#/compare/${parts[2]}/${encodeURIComponent(other)}`);
}

function check() {
  const [, name, key] = location.hash.split('/');
  if (name === 'session') go(`#/check/${key}`); else announce('Open a session first.');
}

/** @type {EventSource | null} */
let events = null;
/** Whether the stream broke, so that the view may have missed something. */
let broken = false;

/**
 * Refreshes the view when something changes. The browser reconnects by itself, and the server sends what was missed.
 *
 * @param {string} path
 */
function follow(path) {
  events?.close();
  const stream = new EventSource(path);
  events = stream;
  let timer = 0;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => view?.refresh(), 100);
  };
  stream.onopen = () => {
    live.textContent = 'live';
    live.classList.remove('off');
    if (broken) { broken = false; announce('Connected again'); changed(); }
  };
  stream.onerror = () => {
    broken = true;
    live.textContent = 'not connected';
    live.classList.add('off');
    // A server that was restarted knows no cookie of the last start: the browser gives up, and so it is tried again here.
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => { if (events === stream) follow(path); }, 3000);
  };
  for (const name of ['turn', 'reset', 'removed', 'session', 'added', 'changed']) stream.addEventListener(name, changed);
}

// A browser allows few connections to a server at a time: a tab that is not seen holds none, and catches up when it is.
document.addEventListener('visibilitychange', () => {
  if (document.hidden) { events?.close(); return; }
  if (events?.readyState !== EventSource.CLOSED) return;
  follow(events.url);
  view?.refresh();
});

applyTheme();
listen();
setCommands('global', [
  { name: 'All sessions', key: 'h', run: () => go('#/') },
  { name: 'Search in all sessions', key: 's', run: () => go('#/search') },
  { name: 'Tokens and costs', key: '$', run: () => go('#/stats') },
  { name: 'Trash', run: () => go('#/trash') },
  { name: 'Retention', run: () => go('#/retention') },
  { name: 'Check this session', run: check },
  { name: 'Compare with another session', key: 'c', run: compare },
  { name: 'Change the theme', key: 't', run: nextTheme },
  { name: 'Keyboard shortcuts', key: '?', run: openHelp },
]);
document.getElementById('palette')?.addEventListener('click', openPalette);
document.getElementById('theme')?.addEventListener('click', nextTheme);
document.getElementById('help')?.addEventListener('click', openHelp);
document.getElementById('skip')?.addEventListener('click', event => { event.preventDefault(); main.focus(); });
addEventListener('hashchange', show);
show();
