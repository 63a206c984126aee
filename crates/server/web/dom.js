// Small helpers over the DOM. Text always goes in as text nodes, never as HTML.

/**
 * Creates an element.
 *
 * Properties that start with `on` are event listeners; `class`, `for`, `aria-*`, `data-*` and `role` are attributes;
 * everything else is set as a property. A property that is null or undefined is left out.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any> | null} [properties]
 * @param {...(Node | string | number | null | undefined | false)} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith('on')) {
      element.addEventListener(name.slice(2), value);
    } else if (/^(class|for|role|aria-|data-)/.test(name)) {
      element.setAttribute(name, String(value));
    } else {
      /** @type {any} */ (element)[name] = value;
    }
  }
  append(element, children);
  return element;
}

/**
 * Creates an SVG element.
 *
 * @param {string} tag
 * @param {Record<string, string | number | null | undefined>} [attributes]
 * @param {...(Node | string)} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes, ...children) {
  const element = /** @type {SVGElement} */ (document.createElementNS('http://www.w3.org/2000/svg', tag));
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * @param {Element} parent
 * @param {(Node | string | number | null | undefined | false)[]} children
 */
export function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(typeof child === 'number' ? String(child) : child);
  }
}

/**
 * Replaces all children.
 *
 * @param {Element} parent
 * @param {...(Node | string | number | null | undefined | false)} children
 */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
}

/**
 * Says something to screen readers, and shows it for a moment.
 *
 * @param {string} text
 * @param {'info' | 'error'} [kind]
 * @param {{ name: string, run: () => void }} [action] A button beside it.
 */
export function announce(text, kind = 'info', action) {
  const region = document.getElementById('status');
  if (!region) return;
  const button = action ? h('button', { type: 'button', onclick: () => { region.classList.remove('shown'); action.run(); } }, action.name) : null;
  fill(region, text, button);
  region.dataset.kind = kind;
  region.classList.add('shown');
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => region.classList.remove('shown'), kind === 'error' || action ? 12000 : 4000);
}
/** @type {ReturnType<typeof setTimeout> | undefined} */
announce.timer = undefined;

/**
 * Runs the last call only, after a pause.
 *
 * @template {any[]} A
 * @param {number} milliseconds
 * @param {(...values: A) => void} call
 * @returns {(...values: A) => void}
 */
export function debounce(milliseconds, call) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), milliseconds);
  };
}

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const UNITS = /** @type {[Intl.RelativeTimeFormatUnit, number][]} */ ([
  ['year', 31536000], ['month', 2592000], ['week', 604800], ['day', 86400], ['hour', 3600], ['minute', 60],
]);

/**
 * A time as `<time>`, relative, with the exact local time as its title.
 *
 * @param {string | null | undefined} time
 * @returns {HTMLElement}
 */
export function timeElement(time) {
  if (!time) return h('span', { class: 'dim' }, '–');
  const date = new Date(time);
  const seconds = (date.getTime() - Date.now()) / 1000;
  const unit = UNITS.find(([, size]) => Math.abs(seconds) >= size);
  const text = unit ? relative.format(Math.round(seconds / unit[1]), unit[0]) : 'now';
  return h('time', { dateTime: time, title: date.toLocaleString() }, text);
}

const numbers = new Intl.NumberFormat();

/**
 * @param {number | null | undefined} value
 * @returns {string}
 */
export function count(value) {
  return value === null || value === undefined ? '–' : numbers.format(value);
}
