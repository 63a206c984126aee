// Reading: the text of a session.

import { check, same } from './harness.mjs';
import { atTurn, key, openSession, said, sees, until } from './steps.mjs';

const CLAUDE = '11111111-0000-4000-8000-000000000001';

export const reading = [
  ['reading: a session opens at its end', async ({ page, server }) => {
    await openSession(page, server, 'long');
    await atTurn(page, 300, 300);
    await sees(page, 'article.entry.current', 'Step 300.');
  }],
  ['reading: a permalink opens at its turn', async ({ page, server }) => {
    await openSession(page, server, 'long', 150);
    await atTurn(page, 150, 300);
    await sees(page, 'article.entry.current', 'Step 150.');
    const box = await page.locator('article.entry.current').boundingBox();
    check(box.y > 0 && box.y < 700, JSON.stringify(box));
  }],
  ['reading: only a window of a long session is in the page', async ({ page, server }) => {
    await openSession(page, server, 'long', 150);
    await page.waitForTimeout(300);
    const count = await page.locator('article.entry').count();
    check(count < 260, `${count} articles`);
  }],
  ['reading: scrolling by hand moves the timeline', async ({ page, server }) => {
    await openSession(page, server, 'long');
    await page.mouse.move(300, 400);
    await page.mouse.wheel(0, -200_000);
    await until('the beginning', async () => Number.parseInt(await page.locator('.turn-number').innerText(), 10) < 20);
  }],
  ['reading: Markdown is rendered', async ({ page, server }) => {
    await openSession(page, server, 'tale', 1);
    const body = page.locator('article.entry').first();
    same(await body.locator('.heading').innerText(), 'Night');
    same(await body.locator('strong').innerText(), 'bold');
    same(await body.locator('em').innerText(), 'start');
    same(await body.locator('ul ul li').innerText(), 'two');
    same(await body.locator('td').allInnerTexts(), ['1', '2']);
  }],
  ['reading: code has colours', async ({ page, server }) => {
    await openSession(page, server, 'tale', 1);
    same(await page.locator('.code-k').innerText(), 'const');
    same(await page.locator('.code-s').innerText(), '"x"');
    same(await page.locator('.code-c').innerText(), '// note');
  }],
  ['reading: pictures of the session are shown', async ({ page, server }) => {
    await openSession(page, server, 'tale');
    await page.locator('figure img[alt="A map of the town"]').waitFor();
    await until('the picture', async () => page.locator('figure img').evaluate(image => image.complete && image.naturalWidth === 1));
  }],
  ['reading: tool calls are folded under what they did', async ({ page, server }) => {
    await openSession(page, server, CLAUDE);
    await sees(page, 'details.fold summary', 'Ran ls -la');
    await sees(page, 'details.fold summary', 'Edited /srv/app/lantern.js');
    same(await page.locator('details.fold[open]').count(), 0);
  }],
  ['reading: an edit is a diff', async ({ page, server }) => {
    await openSession(page, server, CLAUDE);
    await page.locator('summary', { hasText: 'Edited' }).click();
    same((await page.locator('.diff-del').innerText()).trim(), '-let oil = 0');
    same((await page.locator('.diff-add').innerText()).trim(), '+let oil = 1');
  }],
  ['reading: a result opens', async ({ page, server }) => {
    await openSession(page, server, CLAUDE);
    await page.locator('summary', { hasText: 'total 1' }).click();
    await sees(page, 'details[open] pre', 'lantern.js');
  }],
  ['reading: all folds open and close with a key', async ({ page, server }) => {
    await openSession(page, server, CLAUDE);
    await key(page, 'o');
    same(await page.locator('details.fold:not([open])').count(), 0);
    await key(page, 'o');
    same(await page.locator('details.fold[open]').count(), 0);
  }],
  ['reading: sessions of others are read-only', async ({ page, server }) => {
    await openSession(page, server, CLAUDE);
    await sees(page, '.head .badge', 'read-only');
    same(await page.locator('.composer').count(), 0);
    same(await page.getByRole('button', { name: 'Fork here' }).count(), 0);
  }],
  ['reading: text and links are copied', async ({ page, server, context }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await openSession(page, server, 'gate', 2);
    await page.getByRole('button', { name: 'Copy the text of turn 2' }).click();
    await said(page, 'Copied');
    same(await page.evaluate(() => navigator.clipboard.readText()), 'You go in, and Luna smiles.');
    await key(page, 'y');
    await until('the link', async () => (await page.evaluate(() => navigator.clipboard.readText())).endsWith('/#/session/gate/turn/2'));
  }],
  ['reading: the command for a terminal is copied', async ({ page, server, context, home }) => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await openSession(page, server, 'gate', 2);
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('menuitem', { name: 'Copy the command for a terminal' }).click();
    await said(page, 'Copied');
    const command = await page.evaluate(() => navigator.clipboard.readText());
    check(home.run(command.split(' ').slice(1)).includes('Luna smiles'), command);
  }],
  ['reading: every export downloads', async ({ page, server }) => {
    await openSession(page, server, 'gate');
    for (const [name, start] of [['Markdown', '---'], ['Web page', '<!'], ['Plain text', ''], ['Chat log (JSON)', '{'], ['Book (PDF)', '%PDF']]) {
      await page.getByRole('button', { name: 'Export' }).click();
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name }).click()]);
      const stream = await download.createReadStream();
      let whole = '';
      for await (const part of stream) whole += part.toString('latin1');
      check(whole.startsWith(start) && whole.length > 20, `${name}: ${whole.slice(0, 60)}`);
    }
  }],
  ['reading: an export is previewed', async ({ page, server }) => {
    await openSession(page, server, 'gate');
    await page.getByRole('button', { name: 'Export' }).click();
    await page.getByRole('menuitem', { name: 'Preview as text' }).click();
    await sees(page, 'dialog pre', 'Luna smiles');
    await page.keyboard.press('Escape');
    same(await page.locator('dialog').count(), 0);
  }],
  ['reading: a turn of another process is followed', async ({ page, server, home }) => {
    home.run(['new', 'game', '--id', 'live-1']);
    home.append('live-1', ...Array.from({ length: 30 }, (_, at) => ({ actor: 'gm', narration: `Line ${at}.` })));
    await openSession(page, server, 'live-1');
    home.append('live-1', { actor: 'gm', narration: 'A bell rings.' });
    await sees(page, 'article.entry.current', 'A bell rings.');
    await atTurn(page, 31, 31);
  }],
  ['reading: who reads earlier turns is not moved', async ({ page, server, home }) => {
    home.run(['new', 'game', '--id', 'live-2']);
    home.append('live-2', ...Array.from({ length: 60 }, (_, at) => ({ actor: 'gm', narration: `Line ${at}.` })));
    await openSession(page, server, 'live-2', 10);
    same(await page.getByRole('button', { name: 'Follow' }).getAttribute('aria-pressed'), 'false');
    home.append('live-2', { actor: 'gm', narration: 'A bell rings.' });
    await atTurn(page, 10, 61);
    await page.getByRole('button', { name: 'Follow' }).click();
    await sees(page, 'article.entry.current', 'A bell rings.');
  }],
  ['reading: without JavaScript', async ({ server, browser }) => {
    const context = await browser.context(server, { javaScriptEnabled: false });
    const { page, problems } = await browser.page(context, server.base);
    await page.goto(`${server.base}/`);
    await page.getByRole('link', { name: 'Read and search without it' }).click();
    await page.getByRole('link', { name: 'A tale' }).first().click();
    await sees(page, 'article', 'A map.');
    await page.getByLabel('Search').fill('smiles');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: /gate/ }).first().click();
    await sees(page, 'article', 'Luna smiles');
    same(problems, []);
    await context.close();
  }],
];
