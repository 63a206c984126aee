// Which sessions have changed since they were last looked at, remembered in the browser.

const NAME = 'seen';
/** The most sessions that are remembered. */
const MOST = 3000;

/** @returns {{ start: string, times: Record<string, string> }} */
function load() {
  try {
    const stored = JSON.parse(localStorage.getItem(NAME) ?? '');
    if (stored.start && stored.times) return stored;
  } catch { /* It is made again. */ }
  // What is older than the first visit is not new.
  const fresh = { start: new Date().toISOString(), times: {} };
  localStorage.setItem(NAME, JSON.stringify(fresh));
  return fresh;
}

let known = load();

/** @param {{ key: string, updated: string | null }} session */
export const isNew = session => Boolean(session.updated) && Date.parse(session.updated ?? '') > Date.parse(known.times[session.key] ?? known.start);

/** @param {{ key: string, updated: string | null }} session */
export function saw(session) {
  if (!isNew(session)) return;
  known = load();
  known.times[session.key] = session.updated ?? '';
  const times = Object.entries(known.times);
  if (times.length > MOST) known.times = Object.fromEntries(times.sort((one, two) => (one[1] < two[1] ? 1 : -1)).slice(0, MOST / 2));
  localStorage.setItem(NAME, JSON.stringify(known));
}
