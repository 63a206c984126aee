// Steps that many scenarios share.

import { check } from './harness.mjs';

export const list = page => page.locator('.window-row');

export async function openSession(page, server, id, turn) {
  await page.goto(`${server.base}/#/session/${encodeURIComponent(id)}${turn === undefined ? '' : `/turn/${turn}`}`);
  await page.locator('.session .turn-number').waitFor();
  await page.locator('article.entry').first().waitFor();
}

export async function atTurn(page, turn, turns) {
  await page.locator('.turn-number', { hasText: turns === undefined ? `${turn} /` : `${turn} / ${turns}` }).waitFor();
}

/** Keys go to the page, not to a field. */
export async function key(page, ...names) {
  await page.evaluate(() => { if (document.activeElement instanceof HTMLElement && /INPUT|TEXTAREA/.test(document.activeElement.tagName)) document.activeElement.blur(); });
  for (const name of names) await page.keyboard.press(name);
}

export async function tab(page, name) {
  await page.getByRole('tab', { name, exact: true }).click();
}

export async function said(page, text) {
  await page.locator('#status.shown', { hasText: text }).waitFor();
}

export async function text(page, selector) {
  return page.locator(selector).first().innerText();
}

export async function sees(page, selector, part) {
  await page.locator(selector, { hasText: part }).first().waitFor();
}

export async function until(what, condition) {
  const end = Date.now() + 60_000;
  while (Date.now() < end) {
    if (await condition()) return;
    await new Promise(resolve => { setTimeout(resolve, 50); });
  }
  check(false, `not seen: ${what}`);
}
