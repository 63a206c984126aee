// Charts as SVG. Each has the same numbers in a table beside it, so it is hidden from screen readers.

import { h, svg } from './dom.js';

const WIDTH = 1000;
const HEIGHT = 220;

/**
 * Bars, with tokens that came from a cache in a lighter colour on top.
 *
 * @param {{ name: string, value: number, light: number, title: string }[]} bars
 * @param {string} unit
 * @returns {SVGElement}
 */
export function barChart(bars, unit) {
  const most = Math.max(1, ...bars.map(bar => bar.value + bar.light));
  const step = (WIDTH - 60) / Math.max(1, bars.length);
  const width = Math.max(1, Math.min(60, step - 2));
  /** @param {number} value */
  const y = value => HEIGHT - 24 - (value / most) * (HEIGHT - 40);
  const short = (/** @type {number} */ value) => (value >= 1e9 ? `${(value / 1e9).toFixed(1)}G` : value >= 1e6 ? `${(value / 1e6).toFixed(1)}M` : value >= 1e3 ? `${Math.round(value / 1e3)}k` : String(Math.round(value)));
  const lines = [0, 0.5, 1].map(part => svg('g', {}, svg('line', { x1: 55, x2: WIDTH, y1: y(most * part), y2: y(most * part), class: 'grid' }),
    svg('text', { x: 48, y: y(most * part) + 4, 'text-anchor': 'end' }, short(most * part))));
  const every = Math.ceil(bars.length / 10);
  const drawn = bars.map((bar, index) => {
    const x = 60 + index * step;
    return svg('g', {}, svg('title', {}, bar.title),
      svg('rect', { x, y: y(bar.value + bar.light), width, height: Math.max(0, y(bar.value) - y(bar.value + bar.light)), class: 'light' }),
      svg('rect', { x, y: y(bar.value), width, height: Math.max(0, HEIGHT - 24 - y(bar.value)) }),
      index % every === 0 ? svg('text', { x, y: HEIGHT - 6 }, bar.name.length > 14 ? `${bar.name.slice(0, 13)}…` : bar.name) : '');
  });
  return svg('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'chart', 'aria-hidden': 'true' }, svg('title', {}, unit), ...lines, ...drawn);
}

const DAY = 86_400_000;

/**
 * A year of days, a column per week.
 *
 * @param {Map<string, number>} days Values by day, such as `2026-01-03`.
 * @param {string} unit
 * @returns {HTMLElement}
 */
export function heatMap(days, unit) {
  const today = Date.parse(new Date().toISOString().slice(0, 10));
  const first = today - 364 * DAY;
  const start = first - ((new Date(first).getUTCDay() + 6) % 7) * DAY;
  const most = Math.max(1, ...days.values());
  const cells = [];
  const months = [];
  let month = '';
  for (let time = start, index = 0; time <= today; time += DAY, index += 1) {
    const day = new Date(time).toISOString().slice(0, 10);
    const value = days.get(day) ?? 0;
    const level = value === 0 ? 0 : 1 + Math.min(3, Math.floor((Math.log(value + 1) / Math.log(most + 1)) * 4));
    const column = Math.floor(index / 7);
    cells.push(svg('rect', { x: 2 + column * 14, y: 16 + (index % 7) * 14, width: 11, height: 11, rx: 2, class: `heat-${level}` }, svg('title', {}, `${day}: ${value} ${unit}`)));
    if (day.slice(0, 7) !== month && index % 7 === 0) {
      month = day.slice(0, 7);
      months.push(svg('text', { x: 2 + column * 14, y: 10 }, new Date(time).toLocaleString(undefined, { month: 'short', timeZone: 'UTC' })));
    }
  }
  return h('div', { class: 'scroll', tabIndex: 0, role: 'img', 'aria-label': `${unit} on each day of the last year, at most ${most} on one day` },
    svg('svg', { viewBox: '0 0 750 116', class: 'heat', 'aria-hidden': 'true' }, ...months, ...cells));
}
