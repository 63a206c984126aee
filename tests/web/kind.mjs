// Kind: themes, keyboard, screen readers, sizes, languages.

import fs from 'node:fs';

import { AXE, check, same } from './harness.mjs';
import { key, list, openSession, sees, tab, until } from './steps.mjs';

/** Every view, with what must be there before it is looked at. */
export const VIEWS = [
  ['sessions', '#/', '.window-row'], ['session', '#/session/gate', 'article.entry'], ['agent', '#/session/11111111-0000-4000-8000-000000000001', 'article.entry'],
  ['chat', '#/session/tale', 'article.entry'], ['search', '#/search/lantern', '.hits li'], ['stats', '#/stats/model', 'table.data'],
  ['compare', '#/compare/gate/long', '.compare'], ['health', '#/check/gate', 'h2'], ['retention', '#/retention', 'main strong'], ['trash', '#/trash', 'main p, main table'],
  ['campaign', '#/session/axe-camp', 'article.entry'], ['hostile', '#/session/hostile', 'article.entry'],
];

async function axe(page) {
  await page.evaluate(fs.readFileSync(AXE, 'utf8'));
  return page.evaluate(async () => {
    const found = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return found.violations.map(each => `${each.id}: ${each.nodes.slice(0, 3).map(node => `${node.target.join(' ')} ${node.any[0]?.message ?? ''}`).join(' | ')}`);
  });
}

async function withCampaign(server) {
  const { sessions } = await server.ask('GET', '/sessions?text=axe-camp');
  if (sessions.length > 0) return;
  await server.ask('POST', '/sessions', { format: 'campaign', id: 'axe-camp' });
  await server.ask('POST', '/sessions/axe-camp/play', { do: 'say', line: '' });
}

export const kind = [
  ...['light', 'dark', 'contrast'].flatMap(theme => VIEWS.map(([name, hash, there]) => [`kind: axe finds nothing in ${name}, ${theme}`, async ({ page, server }) => {
    await withCampaign(server);
    await page.evaluate(value => localStorage.setItem('theme', value), theme);
    await page.goto(`${server.base}/?${theme}-${name}${hash}`);
    await page.locator(there).first().waitFor();
    await page.waitForTimeout(400);
    const found = await axe(page);
    await page.evaluate(() => localStorage.removeItem('theme'));
    same(found, []);
  }])),
  ['kind: axe finds nothing in dialogs and panels', async ({ page, server }) => {
    await openSession(page, server, 'gate');
    for (const name of ['Changes', 'Find', 'Branches', 'Marks']) {
      await tab(page, name);
      await page.waitForTimeout(200);
      same(await axe(page), [], name);
    }
    await key(page, '?');
    same(await axe(page), [], 'help');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    same(await axe(page), [], 'palette');
    await page.keyboard.press('Escape');
    await key(page, 'm');
    same(await axe(page), [], 'prompt');
  }],
  ['kind: help lists the keys, and the palette runs commands', async ({ page, server }) => {
    await page.goto(`${server.base}/#/`);
    await list(page).first().waitFor();
    await key(page, '?');
    await sees(page, 'dialog', 'Command palette');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('costs');
    await page.keyboard.press('Enter');
    await sees(page, 'h1', 'Tokens and costs');
  }],
  ['kind: the theme changes with a key and stays', async ({ page, server }) => {
    await page.goto(`${server.base}/#/`);
    await list(page).first().waitFor();
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const before = await paper();
    await key(page, 't', 't');
    await until('dark', async () => await paper() !== before);
    await page.reload();
    check(await paper() !== before, 'still dark');
    await page.evaluate(() => localStorage.removeItem('theme'));
  }],
  ['kind: no view scrolls sideways from 320 px to 4K', async ({ page, server }) => {
    await withCampaign(server);
    for (const [width, height] of [[320, 640], [768, 1024], [3840, 2160]]) {
      await page.setViewportSize({ width, height });
      for (const [name, hash, there] of VIEWS) {
        await page.goto(`${server.base}/?${width}-${name}${hash}`);
        await page.locator(there).first().waitFor();
        const wide = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.getElementById('main').scrollWidth - document.getElementById('main').offsetLeft));
        check(wide <= width, `${name} is ${wide} px wide at ${width}`);
      }
    }
  }],
  ['kind: keyboard only: find, open, go back in time, fork', async ({ page, server, home }) => {
    home.run(['new', 'game', '--id', 'keys', '--name', 'Keyboard']);
    home.append('keys', { actor: 'gm', narration: 'One.' }, { actor: 'gm', narration: 'Two.' });
    await page.goto(`${server.base}/#/`);
    await list(page).first().waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('Keyboard');
    await until('one', async () => await list(page).count() === 1);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.locator('.turn-number', { hasText: '2 / 2' }).waitFor();
    await page.keyboard.press('k');
    await page.locator('.turn-number', { hasText: '1 / 2' }).waitFor();
    await page.keyboard.press('f');
    await page.locator('.turn-number', { hasText: '1 / 1' }).waitFor();
    await page.keyboard.press('h');
    await list(page).first().waitFor();
  }],
  ['kind: the first tab skips to the content', async ({ page, server }) => {
    await page.goto(`${server.base}/#/stats`);
    await sees(page, 'h1', 'Tokens and costs');
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('Tab');
    same(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
    await page.keyboard.press('Enter');
    same(await page.evaluate(() => document.activeElement.id), 'main');
  }],
  ['kind: dialogs keep the focus and give it back', async ({ page, server }) => {
    await openSession(page, server, 'gate');
    await page.locator('#help').focus();
    await page.keyboard.press('Enter');
    await page.locator('dialog[open]').waitFor();
    await page.keyboard.press('Escape');
    same(await page.evaluate(() => document.activeElement.id), 'help');
  }],
  ['kind: changes are announced', async ({ page, server }) => {
    await openSession(page, server, 'gate');
    same(await page.locator('#status').getAttribute('aria-live'), 'polite');
    same(await page.getByLabel('Turn', { exact: true }).getAttribute('aria-valuetext'), 'turn 3 of 3');
  }],
  ['kind: scripts of any direction', async ({ page, server, home }) => {
    home.run(['new', 'game', '--id', 'scripts', '--name', 'שלום']);
    home.append('scripts', { actor: 'سلمى', narration: 'مرحبا بالعالم' }, { actor: 'नमस्ते', narration: 'दुनिया 👩‍👩‍👧 e\u0301' });
    await openSession(page, server, 'scripts');
    await sees(page, 'article', 'مرحبا بالعالم');
    same(await page.locator('article .body').first().evaluate(node => getComputedStyle(node).direction), 'rtl');
    same(await page.locator('article .body').nth(1).evaluate(node => getComputedStyle(node).direction), 'ltr');
  }],
  ['kind: no motion where none is wanted', async ({ page, server }) => {
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.goto(`${server.base}/#/`);
    same(await page.locator('#status').evaluate(node => getComputedStyle(node).transitionDuration), '0s');
  }],
  ['kind: an address that names nothing says what to do', async ({ page, server }) => {
    await page.goto(`${server.base}/#/session/nothing`);
    await sees(page, 'main', 'This cannot be shown');
    await page.getByRole('link', { name: 'All sessions' }).click();
    await list(page).first().waitFor();
  }, { refused: true }],
];
