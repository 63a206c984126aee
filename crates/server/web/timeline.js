// The scrubber: a range input, so that the keyboard and screen readers work as everywhere, with marks, scenes, snapshots and
// the amount of change above it.

import { h, svg } from './dom.js';

/**
 * @typedef {object} Tick
 * @property {number} turn
 * @property {string} kind
 * @property {string} name
 */

/** How long a turn is shown while playing, in milliseconds. */
const PACE = 800;

export class Timeline {
  /**
   * @param {object} options
   * @param {number} options.turns
   * @param {number} options.turn
   * @param {Tick[]} options.ticks
   * @param {(turn: number) => void} options.changed
   */
  constructor(options) {
    this.options = options;
    this.turns = options.turns;
    /** @type {ReturnType<typeof setInterval> | undefined} */
    this.playing = undefined;
    this.output = h('output', { class: 'turn-number' });
    this.input = h('input', {
      type: 'range', min: '0', max: String(this.turns), step: '1', value: String(options.turn),
      'aria-label': 'Turn', oninput: () => this.moved(),
    });
    this.play = h('button', { type: 'button', onclick: () => this.toggle(), 'aria-pressed': 'false' }, 'Play');
    this.back = h('button', { type: 'button', class: 'ghost', 'aria-label': 'Previous turn', onclick: () => this.step(-1) }, '‹');
    this.forth = h('button', { type: 'button', class: 'ghost', 'aria-label': 'Next turn', onclick: () => this.step(1) }, '›');
    this.ticks = svg('svg', { class: 'ticks', preserveAspectRatio: 'none', viewBox: '0 0 1000 14', 'aria-hidden': 'true' });
    this.element = h('div', { class: 'timeline', role: 'group', 'aria-label': 'Timeline' },
      this.play, this.back, h('div', { class: 'track' }, this.ticks, this.input), this.forth, this.output);
    this.setTicks(options.ticks);
    this.label();
  }

  /** @param {Tick[]} ticks @param {{ turn: number, change_bytes: number }[]} [sizes] */
  setTicks(ticks, sizes = []) {
    /** @param {number} turn */
    const x = turn => (this.turns === 0 ? 0 : (turn / this.turns) * 1000);
    const most = Math.max(1, ...sizes.map(each => each.change_bytes));
    const bars = sizes.filter(each => each.change_bytes > 0).map(each => {
      const height = 2 + 7 * Math.sqrt(each.change_bytes / most);
      return svg('rect', { x: x(each.turn) - 1, y: 14 - height, width: Math.max(1, Math.min(6, 700 / Math.max(1, this.turns))), height, class: 'size' });
    });
    this.ticks.replaceChildren(...bars, ...ticks.map(tick =>
      svg('rect', { x: x(tick.turn) - 1.5, y: 0, width: 3, height: 14, class: `tick ${tick.kind}` }, svg('title', {}, tick.name))));
  }

  get turn() {
    return Number(this.input.value);
  }

  /** @param {number} turns */
  grow(turns) {
    const atEnd = this.turn === this.turns;
    this.turns = turns;
    this.input.max = String(turns);
    if (atEnd) this.input.value = String(turns);
    this.label();
  }

  /** @param {number} turn */
  set(turn) {
    this.input.value = String(turn);
    this.moved();
  }

  /** @param {number} steps */
  step(steps) {
    this.set(Math.max(0, Math.min(this.turns, this.turn + steps)));
  }

  /**
   * Moves the thumb without telling, because the text was scrolled.
   *
   * @param {number} turn
   */
  follow(turn) {
    this.input.value = String(turn);
    this.label();
  }

  moved() {
    this.label();
    this.options.changed(this.turn);
  }

  label() {
    this.output.textContent = `${this.turn} / ${this.turns}`;
    this.input.setAttribute('aria-valuetext', `turn ${this.turn} of ${this.turns}`);
  }

  toggle() {
    if (this.playing) this.stop();
    else {
      if (this.turn >= this.turns) this.set(0);
      this.playing = setInterval(() => {
        this.step(1);
        if (this.turn >= this.turns) this.stop();
      }, PACE);
      this.play.textContent = 'Pause';
      this.play.setAttribute('aria-pressed', 'true');
    }
  }

  stop() {
    clearInterval(this.playing);
    this.playing = undefined;
    this.play.textContent = 'Play';
    this.play.setAttribute('aria-pressed', 'false');
  }
}
