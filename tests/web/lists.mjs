// Sessions: the list.

import { check, same } from './harness.mjs';
import { key, list, openSession, said, sees, until } from './steps.mjs';

const go = async (page, server) => { await page.goto(`${server.base}/#/`); await list(page).first().waitFor(); };

export const lists = [
  ['list: every format is listed', async ({ page, server }) => {
    await go(page, server);
    const formats = await page.locator('select[aria-label="format"] option').allInnerTexts();
    for (const format of ['game', 'chatlog', 'linggen', 'codelia', 'thread', 'claude-code', 'pi', 'codex']) check(formats.some(each => each.startsWith(`${format} (`)), `${format} in ${formats}`);
  }],
  ['list: a session of every format opens', async ({ page, server }) => {
    const { sessions } = await server.ask('GET', '/sessions?limit=1000');
    for (const one of sessions) {
      await page.goto(`${server.base}/#/session/${encodeURIComponent(one.key)}`);
      await sees(page, '.session h1', one.title || one.id);
      await sees(page, '.session .badge', one.format);
    }
  }],
  ['list: a facet filters', async ({ page, server }) => {
    await go(page, server);
    await page.getByLabel('format').selectOption('pi');
    await until('one session', async () => await list(page).count() === 1);
    await sees(page, '.summary', '1 session');
  }],
  ['list: facets say what matches nothing and clear', async ({ page, server }) => {
    await go(page, server);
    await page.getByLabel('Filter sessions').fill('nothing is called this');
    await sees(page, '.empty', 'No session matches');
    await page.getByRole('button', { name: 'Clear the filters' }).click();
    await list(page).first().waitFor();
  }],
  ['list: typing filters by title', async ({ page, server }) => {
    await go(page, server);
    await key(page, '/');
    await page.keyboard.type('A tale');
    await until('one session', async () => await list(page).count() === 1);
  }],
  ['list: typing searches in texts and jumps to the hit', async ({ page, server }) => {
    await go(page, server);
    await page.getByLabel('Filter sessions').fill('smiles');
    await sees(page, '.top-hits mark', 'smiles');
    await page.locator('.top-hits a').first().click();
    await sees(page, 'article.entry.current', 'Luna smiles');
  }],
  ['list: sorted by title', async ({ page, server }) => {
    await go(page, server);
    await page.getByLabel('order').selectOption('title');
    await until('the order', async () => {
      const titles = (await page.locator('.window-row .title').allInnerTexts()).map(each => each.replace(/^[●★✓ ]+/, '').toLowerCase());
      return titles.length > 3 && titles.indexOf('a tale') >= 0 && titles.indexOf('a tale') < titles.indexOf('vex');
    });
  }],
  ['list: sorted by length', async ({ page, server }) => {
    await go(page, server);
    await page.getByLabel('order').selectOption('turns');
    await until('the longest first', async () => /Eva/.test(await list(page).first().innerText()));
  }],
  ['list: changed in the last day', async ({ page, server }) => {
    await go(page, server);
    await page.getByLabel('changed').selectOption('1d');
    await until('no old sessions', async () => !(await page.locator('.window').innerText()).includes('The foreign lantern'));
  }],
  ['list: the keyboard walks and opens', async ({ page, server }) => {
    await go(page, server);
    await page.locator('.window').focus();
    await page.keyboard.press('j');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('k');
    same(await page.locator('.window').getAttribute('aria-activedescendant'), 'row-1');
    await page.keyboard.press('Enter');
    await page.locator('.session h1').waitFor();
  }],
  ['list: pinned and unpinned', async ({ page, server }) => {
    await go(page, server);
    await page.getByLabel('Filter sessions').fill('Eva');
    await until('one', async () => await list(page).count() === 1);
    await key(page, 'p');
    await said(page, 'Pinned');
    await sees(page, '.window-row .title', '★');
    await key(page, 'p');
    await said(page, 'Unpinned');
  }],
  ['list: renamed', async ({ page, server, home }) => {
    home.run(['new', 'chatlog', '--id', 'renamed', '--title', 'Before']);
    await go(page, server);
    await page.getByLabel('Filter sessions').fill('Before');
    await until('one', async () => await list(page).count() === 1);
    await key(page, 'e');
    await page.getByLabel('Title').fill('After <b>');
    await page.keyboard.press('Enter');
    await said(page, 'Renamed');
    same((await server.ask('GET', '/sessions/renamed')).title, 'After <b>');
  }],
  ['list: a format without titles says so', async ({ page, server }) => {
    await go(page, server);
    await page.getByLabel('Filter sessions').fill('Eva');
    await until('one', async () => await list(page).count() === 1);
    await key(page, 'e');
    await page.getByLabel('Title').fill('Other');
    await page.keyboard.press('Enter');
    await said(page, 'no place to store one');
  }, { refused: true }],
  ['list: trashed, and undone', async ({ page, server, home }) => {
    home.run(['new', 'chatlog', '--id', 'gone', '--title', 'To be gone']);
    await go(page, server);
    await page.getByLabel('Filter sessions').fill('To be gone');
    await until('one', async () => await list(page).count() === 1);
    await key(page, 'Delete');
    await said(page, 'Moved to the trash');
    await sees(page, '.empty', 'No session matches');
    await page.getByRole('button', { name: 'Undo' }).click();
    await until('back again', async () => await list(page).count() === 1);
  }],
  ['list: several are selected and trashed, and restored from the trash', async ({ page, server, home }) => {
    for (const id of ['many-1', 'many-2']) home.run(['new', 'chatlog', '--id', id, '--title', `Many ${id}`]);
    await go(page, server);
    await page.getByLabel('Filter sessions').fill('Many many');
    await until('two', async () => await list(page).count() === 2);
    await page.locator('.window').focus();
    for (const press of ['x', 'j', 'x']) await page.keyboard.press(press);
    await sees(page, '.selection', '2 selected');
    await page.getByRole('button', { name: 'Move to the trash' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Move', exact: true }).click();
    await said(page, '2 sessions moved');
    await page.goto(`${server.base}/#/trash`);
    await page.getByRole('button', { name: 'Restore many-1' }).click();
    await said(page, 'Restored many-1');
    same((await server.ask('GET', '/sessions/many-1')).title, 'Many many-1');
  }],
  ['list: two selected sessions are compared', async ({ page, server, home }) => {
    home.run(['fork', 'gate', '--turn', '2', '--id', 'gate-copy']);
    home.append('gate-copy', { actor: 'gm', narration: 'She frowns.' });
    await go(page, server);
    await page.getByLabel('Filter sessions').fill('gate');
    await until('two', async () => await list(page).count() === 2);
    await page.locator('.window').focus();
    for (const press of ['x', 'j', 'x']) await page.keyboard.press(press);
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await sees(page, 'main', 'The same up to turn 2');
  }],
  ['list: tokens, costs and models are shown', async ({ page, server }) => {
    await go(page, server);
    await page.getByLabel('format').selectOption('claude-code');
    await sees(page, '.window-row', 'tok');
    await sees(page, '.window-row .model', 'claude-sonnet-4');
  }],
  ['list: a new session of another process appears', async ({ page, server, home }) => {
    await go(page, server);
    await page.getByLabel('Filter sessions').fill('Fresh one');
    await sees(page, '.empty', 'No session matches');
    home.run(['new', 'chatlog', '--id', 'fresh', '--title', 'Fresh one']);
    await until('the new session', async () => await list(page).count() === 1);
  }],
  ['list: what is new is marked until it is opened', async ({ page, server, home }) => {
    home.run(['new', 'chatlog', '--id', 'marked', '--title', 'Marked as new']);
    await page.goto(`${server.base}/#/`);
    await page.getByLabel('Filter sessions').fill('Marked as new');
    await until('one', async () => await list(page).count() === 1);
    await page.locator('.window-row .dot').waitFor();
    await list(page).first().click();
    await page.locator('.session h1').waitFor();
    await page.goto(`${server.base}/#/`);
    await page.getByLabel('Filter sessions').fill('Marked as new');
    await until('one', async () => await list(page).count() === 1);
    same(await page.locator('.window-row .dot').count(), 0);
  }],
  ['list: a session is created', async ({ page, server }) => {
    await go(page, server);
    await key(page, 'n');
    await page.getByRole('radio', { name: /Chat log/ }).check();
    await page.getByLabel('Name of the player, or title').fill('Made here');
    await page.getByRole('button', { name: 'Create' }).click();
    await sees(page, '.session h1', 'Made here');
  }],
  ['list: 20,000 rows keep few nodes', async ({ page, server }) => {
    await go(page, server);
    const nodes = await page.evaluate(async () => {
      const { RowWindow } = await import('/window_list.js');
      const window = new RowWindow({ label: 'x', rowHeight: 50, open() {}, render: row => { const node = document.createElement('div'); node.textContent = row; return node; } });
      document.querySelector('main').replaceChildren(window.element);
      window.element.style.height = '600px';
      window.setRows(Array.from({ length: 20_000 }, (_, at) => `row ${at}`));
      window.element.scrollTop = 500_000;
      await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      return { count: window.element.querySelectorAll('.window-row').length, text: window.element.innerText };
    });
    check(nodes.count < 60 && nodes.text.includes('row 10000'), JSON.stringify(nodes.count));
  }],
  ['list: a search with its own page', async ({ page, server }) => {
    await page.goto(`${server.base}/#/search/lantern`);
    await sees(page, '.hits mark', /lantern/i);
    await page.getByLabel('Search in all sessions').fill('speaker:');
    await page.getByLabel('Search in all sessions').fill('foreign');
    await until('other hits', async () => /foreign/i.test(await page.locator('.hits').innerText()));
    await openSession(page, server, 'aaaa1111-0000-4000-8000-000000000001');
  }, { refused: true }],
];
