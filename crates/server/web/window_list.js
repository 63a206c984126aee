// Lists that stay smooth however long they are: only rows near the visible part are in the document.

import { h } from './dom.js';

/**
 * A list of rows of equal height.
 *
 * @template T
 */
export class RowWindow {
  /**
   * @param {object} options
   * @param {string} options.label
   * @param {number} options.rowHeight
   * @param {(row: T, index: number) => HTMLElement} options.render
   * @param {(index: number) => void} options.open Called with Enter or a click.
   * @param {(index: number) => void} [options.toggle] Called with a click while Ctrl or Shift is pressed.
   * @param {() => void} [options.nearEnd] Called when the end of the loaded rows comes near.
   */
  constructor(options) {
    this.options = options;
    /** @type {T[]} */
    this.rows = [];
    this.selected = 0;
    this.canvas = h('div', { class: 'window-canvas' });
    this.element = h('div', {
      class: 'window', role: 'listbox', tabIndex: 0, 'aria-label': options.label,
      onscroll: () => this.draw(), onkeydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event),
    }, this.canvas);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  /** @param {T[]} rows */
  setRows(rows) {
    this.rows = rows;
    this.selected = Math.max(0, Math.min(this.selected, rows.length - 1));
    this.draw();
  }

  draw() {
    const { rowHeight, render, open, toggle, nearEnd } = this.options;
    this.canvas.style.height = `${this.rows.length * rowHeight}px`;
    const first = Math.max(0, Math.floor(this.element.scrollTop / rowHeight) - 8);
    const last = Math.min(this.rows.length, first + Math.ceil(this.element.clientHeight / rowHeight) + 16);
    const nodes = [];
    for (let index = first; index < last; index += 1) {
      const node = render(this.rows[index], index);
      node.classList.add('window-row');
      node.id = `row-${index}`;
      node.style.top = `${index * rowHeight}px`;
      node.style.height = `${rowHeight}px`;
      node.setAttribute('role', 'option');
      node.setAttribute('aria-selected', String(index === this.selected));
      node.setAttribute('aria-setsize', String(this.rows.length));
      node.setAttribute('aria-posinset', String(index + 1));
      node.addEventListener('click', event => {
        this.select(index);
        if (toggle && (event.ctrlKey || event.metaKey || event.shiftKey)) toggle(index); else open(index);
      });
      nodes.push(node);
    }
    this.canvas.replaceChildren(...nodes);
    if (this.rows.length > 0) this.element.setAttribute('aria-activedescendant', `row-${this.selected}`);
    if (last > this.rows.length - 50) nearEnd?.();
  }

  /** @param {number} index */
  select(index) {
    const { rowHeight } = this.options;
    this.selected = Math.max(0, Math.min(index, this.rows.length - 1));
    const top = this.selected * rowHeight;
    const view = this.element;
    if (top < view.scrollTop) view.scrollTop = top;
    if (top + rowHeight > view.scrollTop + view.clientHeight) view.scrollTop = top + rowHeight - view.clientHeight;
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.options.rowHeight) - 1);
    /** @type {Record<string, number>} */
    const moves = {
      ArrowDown: this.selected + 1, ArrowUp: this.selected - 1, j: this.selected + 1, k: this.selected - 1,
      PageDown: this.selected + page, PageUp: this.selected - page, Home: 0, End: this.rows.length - 1,
    };
    if (event.key === 'Enter' && this.rows.length > 0) this.options.open(this.selected);
    else if (event.key in moves && !event.ctrlKey && !event.metaKey && !event.altKey) this.select(moves[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Turns per block. */
const BLOCK = 40;
/** Height of a turn that was never shown, in pixels. */
const ESTIMATE = 110;

/**
 * A column of turns of unknown heights, in blocks. A block is loaded when it comes near the visible part, and emptied
 * when it is far away; it keeps the height that it had.
 */
export class TurnWindow {
  /**
   * @param {object} options
   * @param {number} options.turns The number of turns.
   * @param {(from: number, to: number) => Promise<Node[]>} options.load Makes the nodes of a range of turns.
   * @param {(error: unknown) => void} options.failed
   */
  constructor(options) {
    this.options = options;
    this.turns = 0;
    this.element = h('div', { class: 'turns' });
    /** The blocks that are shown or on their way. @type {Map<Element, Promise<void>>} */
    this.loaded = new Map();
    this.observer = new IntersectionObserver(changes => {
      for (const change of changes) {
        const block = /** @type {HTMLElement} */ (change.target);
        if (change.isIntersecting) this.load(block); else this.unload(block);
      }
    }, { rootMargin: '1200px 0px' });
    this.grow(options.turns);
  }

  /** @param {number} turns The new number of turns. */
  grow(turns) {
    const before = this.turns;
    this.turns = turns;
    const blocks = Math.max(1, Math.ceil(turns / BLOCK));
    while (this.element.children.length < blocks) {
      const index = this.element.children.length;
      const block = h('div', { class: 'block', 'data-index': index });
      this.element.append(block);
      this.observer.observe(block);
    }
    for (let index = Math.floor(before / BLOCK); index < blocks; index += 1) {
      const block = /** @type {HTMLElement} */ (this.element.children[index]);
      if (this.loaded.has(block)) { this.loaded.delete(block); this.load(block); } else this.reserve(block);
    }
  }

  /** @param {HTMLElement} block */
  range(block) {
    const first = Number(block.dataset.index) * BLOCK;
    return { from: first === 0 ? 0 : first + 1, to: Math.min(first + BLOCK, this.turns) };
  }

  /** @param {HTMLElement} block */
  reserve(block) {
    const { from, to } = this.range(block);
    if (!block.style.minHeight) block.style.minHeight = `${Math.max(1, to - from + 1) * ESTIMATE}px`;
  }

  /**
   * @param {HTMLElement} block
   * @returns {Promise<void>}
   */
  load(block) {
    const known = this.loaded.get(block);
    if (known) return known;
    const { from, to } = this.range(block);
    /** @type {Promise<void>} */
    const loading = this.options.load(from, to).then(nodes => {
      if (this.loaded.get(block) !== loading) return;
      block.replaceChildren(...nodes);
      block.style.minHeight = '';
    }, error => {
      if (this.loaded.get(block) === loading) this.loaded.delete(block);
      this.options.failed(error);
    });
    this.loaded.set(block, loading);
    return loading;
  }

  /** @param {HTMLElement} block */
  unload(block) {
    if (!this.loaded.delete(block)) return;
    block.style.minHeight = `${Math.max(block.offsetHeight, 1)}px`;
    block.replaceChildren();
  }

  /**
   * Shows a turn at the top.
   *
   * @param {number} turn
   */
  async show(turn) {
    const index = Math.min(Math.max(0, Math.ceil(turn / BLOCK) - 1), this.element.children.length - 1);
    const block = /** @type {HTMLElement} */ (this.element.children[index]);
    block.scrollIntoView();
    await this.load(block);
    const target = this.element.querySelector(`[data-turn="${turn}"]`) ?? block.lastElementChild;
    target?.scrollIntoView({ block: 'start' });
  }

  /** The turn at the top of the visible part. */
  current() {
    const top = 140;
    for (const block of this.loaded.keys()) {
      const box = block.getBoundingClientRect();
      if (box.bottom < top || box.top > innerHeight) continue;
      for (const node of block.children) {
        if (node.getBoundingClientRect().bottom > top) return Number(/** @type {HTMLElement} */ (node).dataset.turn);
      }
    }
    return null;
  }

  /** Loads the last block again, and all others when they are seen. */
  refresh() {
    for (const block of [...this.loaded.keys()]) {
      this.loaded.delete(block);
      this.load(/** @type {HTMLElement} */ (block));
    }
  }

  close() {
    this.observer.disconnect();
  }
}
