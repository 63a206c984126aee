// The app: routes, theme, global keys, live updates.
//
// `#/` is the list, `#/session/KEY` and `#/session/KEY/turn/N` a session, `#/compare/KEY/KEY` two of them, `#/search/TEXT` a
// search, `#/stats` the costs, and `#/check/KEY` the findings of a session.

import { explain, Problem } from './api.js';
import { showFindings, showStats } from './care_view.js';
import { showComparison } from './compare_view.js';
import { announce, fill, h } from './dom.js';
import { listen, openHelp, openPalette, promptDialog, setCommands } from './keys.js';
import { showSearch } from './search_view.js';
import { sessionLink, showSession } from './session_view.js';
import { showSessions } from './sessions_view.js';

const THEMES = ['system', 'light', 'dark'];
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
  const [name, one, , two] = parts;
  follow(name === 'session' && one ? `/api/v1/sessions/${encodeURIComponent(one)}/events` : '/api/v1/events');
  if (name === 'search') return showSearch(main, one ?? '');
  if (name === 'stats') return showStats(main, one ?? 'day');
  if (name === 'check' && one) return showFindings(main, one);
  if (name === 'session' && one) return showSession(main, one, two === undefined ? null : Number(two), go);
  if (name === 'compare' && one && parts[2]) return showComparison(main, one, parts[2]);
  return showSessions(main, key => go(sessionLink(key)));
}

async function show() {
  visit += 1;
  const mine = visit;
  view?.close();
  view = null;
  setCommands('view', []);
  const parts = location.hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent).filter(Boolean);
  for (const link of document.querySelectorAll('nav a')) {
    const name = link.getAttribute('href')?.slice(2) ?? '';
    if (name === (parts[0] ?? '')) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
  }
  try {
    const made = await makeView(parts);
    if (mine === visit) view = made; else made.close();
  } catch (error) {
    fill(main, h('div', { class: 'empty' }, h('h1', null, 'This cannot be shown'), h('p', null, explain(error)),
      error instanceof Problem && error.status === 401
        ? h('p', null, 'Open the URL that ', h('code', null, 'everturn serve'), ' has printed.')
        : h('p', null, h('a', { href: '#/' }, 'All sessions'))));
  }
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

/**
 * Refreshes the view when something changes. The browser reconnects by itself, and the server sends what was missed.
 *
 * @param {string} path
 */
function follow(path) {
  events?.close();
  events = new EventSource(path);
  let timer = 0;
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(() => view?.refresh(), 100);
  };
  events.onopen = () => { live.textContent = 'live'; live.classList.remove('off'); };
  events.onerror = () => { live.textContent = 'not connected'; live.classList.add('off'); };
  for (const name of ['turn', 'reset', 'removed', 'session', 'added', 'changed']) events.addEventListener(name, changed);
}

applyTheme();
listen();
setCommands('global', [
  { name: 'All sessions', key: 'h', run: () => go('#/') },
  { name: 'Search in all sessions', key: 's', run: () => go('#/search') },
  { name: 'Tokens and costs', run: () => go('#/stats') },
  { name: 'Check this session', run: check },
  { name: 'Compare with another session', key: 'c', run: compare },
  { name: 'Change the theme', key: 't', run: nextTheme },
  { name: 'Keyboard shortcuts', key: '?', run: openHelp },
]);
document.getElementById('palette')?.addEventListener('click', openPalette);
document.getElementById('theme')?.addEventListener('click', nextTheme);
document.getElementById('help')?.addEventListener('click', openHelp);
addEventListener('hashchange', show);
show();
