// Two tabs, a slow network, and servers that are killed.

import { Home, Server, check, same } from './harness.mjs';
import { atTurn, openSession, said, sees, until } from './steps.mjs';

export const resilience = [
  ['two tabs: the second is told, and overwrites nothing', async ({ page, server, context, browser, home }) => {
    home.run(['new', 'game', '--id', 'tabs']);
    home.append('tabs', { actor: 'gm', narration: 'One.' });
    await openSession(page, server, 'tabs');
    const { page: other, problems } = await browser.page(context, server.base);
    await openSession(other, server, 'tabs');
    // The second tab does not learn of the first one's turn before it sends its own.
    await other.route('**/api/v1/sessions/tabs', route => route.abort());
    await page.getByLabel('Message').fill('From the first tab.');
    await page.getByRole('button', { name: 'Send' }).click();
    await sees(page, 'article.entry', 'From the first tab.');
    await other.getByLabel('Message').fill('From the second tab.');
    await other.getByRole('button', { name: 'Send' }).click();
    await said(other, 'changed elsewhere first');
    same(await other.getByLabel('Message').inputValue(), 'From the second tab.', 'the draft');
    await other.unroute('**/api/v1/sessions/tabs');
    await other.reload();
    await sees(other, 'article.entry', 'From the first tab.');
    await other.getByRole('button', { name: 'Send' }).click();
    await atTurn(page, 3, 3);
    check(problems.every(text => /Failed to load resource/.test(text)), problems.join('; '));
    await other.close();
  }],
  ['two tabs: both see what either does', async ({ page, server, context, browser, home }) => {
    home.run(['new', 'game', '--id', 'both']);
    home.append('both', { actor: 'gm', narration: 'One.' });
    await openSession(page, server, 'both');
    const { page: other } = await browser.page(context, server.base);
    await openSession(other, server, 'both');
    await other.getByLabel('Message').fill('Seen everywhere.');
    await other.getByRole('button', { name: 'Send' }).click();
    await sees(page, 'article.entry', 'Seen everywhere.');
    await other.close();
  }],
  ['drafts: kept over a reload, and sent once', async ({ page, server, home }) => {
    home.run(['new', 'game', '--id', 'draft']);
    home.append('draft', { actor: 'gm', narration: 'One.' });
    await openSession(page, server, 'draft');
    await page.getByLabel('Message').fill('A thought in progress');
    await page.reload();
    await page.locator('article.entry').first().waitFor();
    same(await page.getByLabel('Message').inputValue(), 'A thought in progress');
    await page.getByRole('button', { name: 'Send' }).dblclick();
    await atTurn(page, 2, 2);
    await page.waitForTimeout(300);
    same((await server.ask('GET', '/sessions/draft')).turns, 2);
  }],
  ['network: a lost answer stores the turn once', async ({ page, server, home }) => {
    home.run(['new', 'chatlog', '--id', 'lost', '--title', 'Lost']);
    home.append('lost', { type: 'narrator', text: 'One.' });
    await openSession(page, server, 'lost');
    let first = true;
    await page.route('**/append', async route => {
      if (!first) return route.continue();
      first = false;
      await route.fetch();
      return route.abort();
    });
    await page.getByLabel('Message').fill('Sent twice.');
    await page.getByRole('button', { name: 'Send' }).click();
    await said(page, 'cannot be reached');
    await page.getByRole('button', { name: 'Send' }).click();
    await until('it is stored', async () => await page.getByLabel('Message').inputValue() === '');
    const { entries } = await server.ask('GET', '/sessions/lost/entries');
    same(entries.filter(entry => entry.text === 'Sent twice.').length, 1);
  }, { refused: true }],
  ['network: slow answers do not mix views', async ({ page, server }) => {
    await page.route('**/api/v1/sessions/long/entries*', async route => { await new Promise(resolve => { setTimeout(resolve, 700); }); await route.continue().catch(() => {}); });
    await page.goto(`${server.base}/#/session/long`);
    await page.waitForTimeout(150);
    await page.goto(`${server.base}/#/session/gate`);
    await sees(page, 'article.entry', 'She waves.');
    await page.waitForTimeout(1200);
    check(!(await page.locator('main').innerText()).includes('Step 300'), 'the slow view');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  }],
  ['network: slow typing shows the last word only', async ({ page, server }) => {
    await page.goto(`${server.base}/#/search`);
    await page.route('**/api/v1/search*', async route => {
      const slow = new URL(route.request().url()).searchParams.get('q') === 'lantern' ? 900 : 0;
      await new Promise(resolve => { setTimeout(resolve, slow); });
      await route.continue().catch(() => {});
    });
    const input = page.getByLabel('Search in all sessions');
    await input.fill('lantern');
    await page.waitForTimeout(300);
    await input.fill('smiles');
    await sees(page, '.hits', 'smiles');
    await page.waitForTimeout(1000);
    check(!(await page.locator('.hits').innerText()).includes('lantern'), 'the old answer');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
  }],
  ['server: killed and started again', async ({ home, browser }) => {
    const own = new Home(home.program);
    own.run(['new', 'game', '--id', 'phoenix']);
    own.append('phoenix', { actor: 'gm', narration: 'One.' });
    let server = await new Server(own).start();
    const { port } = new URL(server.base);
    const context = await browser.context(server);
    const { page } = await browser.page(context, server.base);
    await openSession(page, server, 'phoenix');
    await page.getByLabel('Message').fill('Before the kill.');
    await page.getByRole('button', { name: 'Send' }).click();
    await atTurn(page, 2, 2);
    await page.getByLabel('Message').fill('A draft.');
    await server.stop('SIGKILL');
    await sees(page, '#live', 'not connected');
    await page.getByRole('button', { name: 'Send' }).click();
    await said(page, 'cannot be reached');
    same(await page.getByLabel('Message').inputValue(), 'A draft.', 'the draft');
    server = await new Server(own, ['--addr', `127.0.0.1:${port}`]).start();
    const { code } = await server.ask('POST', '/codes', {});
    const login = await context.newPage();
    await login.goto(`${server.base}/login?code=${code}`);
    await login.close();
    // The stream is resumed without a reload, and what another process wrote meanwhile is there.
    own.append('phoenix', { actor: 'gm', narration: 'Risen.' });
    await sees(page, 'article.entry', 'Risen.');
    same(await page.getByLabel('Message').inputValue(), 'A draft.', 'the draft');
    await page.getByRole('button', { name: 'Send' }).click();
    await sees(page, 'article.entry', 'A draft.');
    const { entries } = await server.ask('GET', '/sessions/phoenix/entries');
    same(entries.map(entry => entry.text), ['One.', 'Before the kill.', 'Risen.', 'A draft.']);
    await context.close();
    await server.stop();
    own.remove();
  }],
  ['server: read-only offers no changes', async ({ home, browser }) => {
    const server = await new Server(home, ['--read-only']).start();
    const context = await browser.context(server);
    const { page } = await browser.page(context, server.base);
    await openSession(page, server, 'gate');
    same(await page.getByRole('button', { name: 'Rewind here' }).count(), 0);
    same(await page.locator('.composer').count(), 0);
    await context.close();
    await server.stop();
  }],
];
