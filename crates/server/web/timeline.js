// The scrubber: a range input, so that the keyboard and screen readers work as everywhere, with marks above it.

import { h, svg } from './dom.js';

/**
 * @typedef {object} Tick
 * @property {number} turn
 * @property {string} kind
 * @property {string} name
 */

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
    this.ticks = svg('svg', { class: 'ticks', preserveAspectRatio: 'none', viewBox: '0 0 1000 10', 'aria-hidden': 'true' });
    this.element = h('div', { class: 'timeline', role: 'group', 'aria-label': 'Timeline' },
      this.play, h('div', { class: 'track' }, this.ticks, this.input), this.output);
    this.setTicks(options.ticks);
    this.label();
  }

  /** @param {Tick[]} ticks */
  setTicks(ticks) {
    this.ticks.replaceChildren(...ticks.map(tick => {
      const x = this.turns === 0 ? 0 : (tick.turn / this.turns) * 1000;
      return svg('rect', { x: x - 1, y: 0, width: 2, height: 10, class: `tick ${tick.kind}` });
    }));
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
      }, 800);
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
