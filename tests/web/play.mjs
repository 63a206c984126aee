// Play, costs and health.

import fs from 'node:fs';
import path from 'node:path';

import { check, same } from './harness.mjs';
import { atTurn, key, openSession, said, sees, tab, until } from './steps.mjs';

/** A campaign that has begun. */
async function campaign(server, id) {
  await server.ask('POST', '/sessions', { format: 'campaign', id });
  await server.ask('POST', `/sessions/${id}/play`, { do: 'say', line: '' });
}

export const play = [
  ['play: a campaign is created and begun', async ({ page, server }) => {
    await page.goto(`${server.base}/#/`);
    await page.getByRole('button', { name: 'New', exact: true }).click();
    await page.getByRole('radio', { name: /Campaign/ }).check();
    await page.getByRole('button', { name: 'Create' }).click();
    await atTurn(page, 0, 0);
    await page.getByRole('button', { name: 'Continue' }).click();
    await atTurn(page, 1, 1);
    check((await page.locator('article.entry').last().innerText()).length > 60, 'a scene');
  }],
  ['play: a line is answered', async ({ page, server }) => {
    await campaign(server, 'camp-line');
    await openSession(page, server, 'camp-line');
    await page.getByLabel('What you do').fill('look around');
    await page.keyboard.press('Enter');
    await atTurn(page, 2, 2);
    await sees(page, '.turns', 'look around');
    same(await page.getByLabel('What you do').inputValue(), '');
  }],
  ['play: retry, versions, undo and redo', async ({ page, server }) => {
    await campaign(server, 'camp-versions');
    await openSession(page, server, 'camp-versions');
    await page.getByLabel('What you do').fill('look around');
    await page.keyboard.press('Enter');
    await atTurn(page, 2, 2);
    await page.getByRole('button', { name: 'Retry' }).click();
    await atTurn(page, 3, 3);
    await sees(page, '.versions', 'Version 2 of 2');
    await page.getByRole('button', { name: 'Choose' }).click();
    await sees(page, '.versions', 'Version 1 of 2');
    await page.getByRole('button', { name: 'Undo', exact: true }).click();
    await atTurn(page, 5, 5);
    await page.getByRole('button', { name: 'Redo' }).click();
    await atTurn(page, 6, 6);
  }],
  ['play: a line is replaced', async ({ page, server }) => {
    await campaign(server, 'camp-edit');
    await openSession(page, server, 'camp-edit');
    await page.getByLabel('What you do').fill('wait');
    await page.keyboard.press('Enter');
    await atTurn(page, 2, 2);
    await page.getByLabel('What you do').fill('rest');
    await page.getByRole('button', { name: 'Replace my line' }).click();
    await atTurn(page, 3, 3);
    await sees(page, '.turns', 'rest');
  }],
  ['play: party, map and dice', async ({ page, server }) => {
    await campaign(server, 'camp-table');
    await openSession(page, server, 'camp-table');
    await tab(page, 'Table');
    await sees(page, '.party', 'hp');
    await page.locator('svg.map .place.here').waitFor();
    await page.getByRole('button', { name: 'Roll a die with 20 sides' }).click();
    await until('a result', async () => /^d20: ([1-9]|1\d|20)$/.test(await page.locator('.dice-result').innerText()));
  }],
  ['play: a campaign on a phone', async ({ page, server }) => {
    await campaign(server, 'camp-phone');
    await page.setViewportSize({ width: 375, height: 700 });
    await openSession(page, server, 'camp-phone');
    await page.getByLabel('What you do').fill('look around');
    await page.getByRole('button', { name: 'Do it' }).click();
    await atTurn(page, 2, 2);
    await page.getByRole('button', { name: 'Panels' }).click();
    await sees(page, '.party', 'hp');
    await page.getByRole('button', { name: 'Panels' }).click();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    check(wide <= 375, `${wide} px wide`);
  }],
  ['play: a turn in a game from the composer', async ({ page, server, home }) => {
    home.run(['new', 'game', '--id', 'composed']);
    home.append('composed', { actor: 'gm', narration: 'Well?' });
    await openSession(page, server, 'composed');
    await key(page, 'i');
    await page.keyboard.type('I look around.');
    await page.keyboard.press('Control+Enter');
    await sees(page, 'article.entry.current', 'I look around.');
  }],
  ['play: messages have versions', async ({ page, server, home }) => {
    home.run(['new', 'chatlog', '--id', 'swipes', '--title', 'Swipes']);
    home.append('swipes', { type: 'narrator', text: 'The first.' });
    await openSession(page, server, 'swipes');
    await page.getByRole('button', { name: 'Write another version of turn 1' }).click();
    await page.getByLabel('Text').last().fill('The second.');
    await page.getByRole('button', { name: 'Save' }).click();
    await sees(page, 'article.entry', 'The second.');
    await page.getByRole('button', { name: 'Next version of turn 1' }).click();
    await sees(page, 'article.entry', 'The first.');
  }],
  ['play: a message is edited', async ({ page, server, home }) => {
    home.run(['new', 'chatlog', '--id', 'edited', '--title', 'Edited']);
    home.append('edited', { type: 'narrator', text: 'A typpo.' });
    await openSession(page, server, 'edited');
    await page.getByRole('button', { name: 'Edit turn 1' }).click();
    await page.getByLabel('Text').last().fill('A typo.');
    await page.getByRole('button', { name: 'Save' }).click();
    await sees(page, 'article.entry', 'A typo.');
  }],
  ['play: what a model would see', async ({ page, server }) => {
    await openSession(page, server, 'long');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'What a model would see' }).click();
    await sees(page, 'dialog', 'Step 300.');
    await page.getByLabel('Budget of tokens').fill('7');
    await until('fewer tokens', async () => /of 128 tokens/.test(await page.locator('dialog output').innerText()));
  }],
  ['costs: charts, tables and the heat map', async ({ page, server }) => {
    for (const by of ['day', 'model', 'project', 'format']) {
      await page.goto(`${server.base}/#/stats/${by}`);
      await sees(page, 'table.data th', by);
      await page.locator('svg.chart rect').first().waitFor({ state: 'attached' });
      check(await page.locator('svg.heat rect').count() > 364, 'a year');
    }
  }],
  ['health: findings, plan, repair and undo', async ({ page, server, home }) => {
    home.run(['new', 'game', '--id', 'hurt']);
    home.append('hurt', { actor: 'gm', narration: 'Kept.' });
    const log = path.join(home.dir, '.everturn/sessions/active/hurt/turns/turns-0001-current.jsonl');
    fs.appendFileSync(log, 'this is not a record\n');
    const { key: name } = await server.ask('GET', '/sessions/hurt');
    await page.goto(`${server.base}/#/check/${encodeURIComponent(name)}`);
    await sees(page, 'main', 'Plan of the repair');
    await page.getByRole('button', { name: 'Repair', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Repair' }).click();
    await sees(page, 'main', 'No problems');
    check(!fs.readFileSync(log, 'utf8').includes('not a record'), 'repaired');
    await page.getByRole('button', { name: 'Undo the last repair' }).click();
    await sees(page, 'main', 'Plan of the repair');
    await page.getByRole('button', { name: 'Repair', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Repair' }).click();
    await sees(page, 'main', 'No problems');
  }],
  ['health: secrets are found and never shown', async ({ page, server, home }) => {
    const secret = ['ghp', 'wWPw5k4aXcaT4fNP0UcnZwJUVFk6LO0pINUx'].join('_');
    home.run(['new', 'game', '--id', 'secret']);
    home.append('secret', { actor: 'gm', narration: `The token is ${secret}.` });
    await openSession(page, server, 'secret');
    check(!(await page.content()).includes(secret), 'masked in the text');
    await page.goto(`${server.base}/#/check/secret`);
    await sees(page, 'main', 'github');
    check(!(await page.content()).includes(secret), 'masked in the findings');
  }],
  ['health: retention is previewed', async ({ page, server }) => {
    await page.goto(`${server.base}/#/retention`);
    await page.getByLabel('Days since the last activity').fill('');
    await page.getByLabel('Sessions to keep').fill('2');
    await page.getByRole('button', { name: 'Preview' }).click();
    await sees(page, 'main', 'would move to the trash');
    await sees(page, 'table.data', 'more recent');
    check((await server.ask('GET', '/sessions')).total > 5, 'nothing was moved');
  }],
  ['status: paused, resumed, completed', async ({ page, server, home }) => {
    home.run(['new', 'game', '--id', 'status']);
    home.append('status', { actor: 'gm', narration: 'Here.' });
    await openSession(page, server, 'status');
    for (const [name, status] of [['Pause', 'paused'], ['Resume', 'active']]) {
      await page.getByRole('button', { name: 'More' }).click();
      await page.getByRole('menuitem', { name, exact: true }).click();
      await until(status, async () => (await server.ask('GET', '/sessions/status')).status === status);
      await sees(page, '.head .badge', status);
    }
  }],
];
