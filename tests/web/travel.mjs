// Time travel and branches.

import { check, same } from './harness.mjs';
import { atTurn, key, openSession, said, sees, tab, until } from './steps.mjs';

const panel = '#panel';

/** A game of its own for a scenario that changes it. */
function game(home, id) {
  home.run(['new', 'game', '--id', id]);
  home.append(id, ...[3, 5, 7, 9].map(value => ({ actor: 'gm', narration: `Trust ${value}.`, deltas: [{ scope: 'world', deltas: [{ op: 'set', path: 'npcs.luna.trust', value }] }] })));
}

export const travel = [
  ['travel: the state goes back with the turn', async ({ page, server }) => {
    await openSession(page, server, 'gate');
    await tab(page, 'State');
    await sees(page, panel, 'As of turn 3');
    check(/trust:[^]*?7/.test(await page.locator(panel).innerText()), 'trust 7');
    await key(page, 'k');
    await sees(page, panel, 'As of turn 2');
    check(/trust:[^]*?5/.test(await page.locator(panel).innerText()), 'trust 5');
  }],
  ['travel: a changed value has its value before', async ({ page, server }) => {
    await openSession(page, server, 'gate', 3);
    await tab(page, 'State');
    await sees(page, '.tree li.changed .before', '5');
  }],
  ['travel: the timeline is dragged', async ({ page, server }) => {
    await openSession(page, server, 'long');
    const box = await page.getByLabel('Turn', { exact: true }).boundingBox();
    await page.mouse.move(box.x + box.width - 8, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2, { steps: 8 });
    await page.mouse.up();
    await until('the middle', async () => { const turn = Number.parseInt(await page.locator('.turn-number').innerText(), 10); return turn > 130 && turn < 170; });
    await until('its state', async () => Math.abs(Number(await page.locator('.tree li.changed .value').first().innerText().catch(() => 0)) - 150) < 25);
  }],
  ['travel: the timeline has keys', async ({ page, server }) => {
    await openSession(page, server, 'long', 100);
    await page.getByLabel('Turn', { exact: true }).focus();
    await page.keyboard.press('ArrowRight');
    await atTurn(page, 101, 300);
    await key(page, 'g');
    await atTurn(page, 0, 300);
    await key(page, 'G');
    await atTurn(page, 300, 300);
    await key(page, 'K');
    await atTurn(page, 290, 300);
  }],
  ['travel: play and pause', async ({ page, server }) => {
    await openSession(page, server, 'long', 10);
    await page.getByRole('button', { name: 'Play' }).click();
    await atTurn(page, 12, 300);
    await page.getByRole('button', { name: 'Pause' }).click();
    const turn = await page.locator('.turn-number').innerText();
    await page.waitForTimeout(1000);
    same(await page.locator('.turn-number').innerText(), turn);
  }],
  ['travel: changes between two turns', async ({ page, server }) => {
    await openSession(page, server, 'long', 100);
    await tab(page, 'Changes');
    await page.getByRole('button', { name: 'Compare from turn 100' }).click();
    for (let step = 0; step < 5; step += 1) await key(page, 'J');
    await sees(page, panel, 'Between turn 100 and turn 150');
    await until('the change', async () => /steps/.test(await page.locator('.changes').innerText()));
  }],
  ['travel: when did a value become another', async ({ page, server }) => {
    await openSession(page, server, 'gate');
    await tab(page, 'Find');
    await page.getByLabel('When did').fill('luna.trust');
    await page.getByLabel('become').fill('5');
    await page.keyboard.press('Enter');
    await sees(page, '.found li', 'world.npcs.luna.trust');
    await page.getByRole('button', { name: 'turn 2', exact: true }).click();
    await atTurn(page, 2, 3);
  }],
  ['travel: marks are made, jumped to and removed', async ({ page, server, home }) => {
    game(home, 'marks');
    await openSession(page, server, 'marks', 2);
    await key(page, 'm');
    await page.getByLabel('Name of the bookmark at turn 2').fill('The turn');
    await page.keyboard.press('Enter');
    await said(page, 'Bookmarked turn 2');
    await key(page, 'G');
    await atTurn(page, 4, 4);
    await key(page, '[');
    await atTurn(page, 2, 4);
    await tab(page, 'Marks');
    await sees(page, panel, 'The turn');
    await page.getByRole('button', { name: 'Remove the mark The turn' }).click();
    await sees(page, panel, 'No marks');
  }],
  ['travel: a fork from a turn', async ({ page, server, home }) => {
    game(home, 'forked');
    await openSession(page, server, 'forked', 2);
    await page.getByRole('button', { name: 'Fork here' }).click();
    await atTurn(page, 2, 2);
    check(!/\/forked$/.test(page.url()), page.url());
  }],
  ['travel: a rewind shows what it takes back, and keeps it', async ({ page, server, home }) => {
    game(home, 'rewound');
    await openSession(page, server, 'rewound', 2);
    await key(page, 'r');
    const dialog = page.getByRole('dialog');
    await sees(page, 'dialog', 'The last 2 turns move to a branch');
    await dialog.getByText('The turns of the branch').click();
    await sees(page, 'dialog', 'Trust 7.');
    await dialog.getByRole('button', { name: 'Rewind' }).click();
    await atTurn(page, 2, 2);
    await tab(page, 'Branches');
    await until('the branch', async () => await page.getByRole('treeitem').count() === 2);
  }],
  ['travel: undo adds a turn', async ({ page, server, home }) => {
    game(home, 'undone');
    await openSession(page, server, 'undone');
    await key(page, 'u');
    await atTurn(page, 5, 5);
    await tab(page, 'State');
    await until('the value before', async () => /trust:[^]*?7/.test(await page.locator(panel).innerText()));
  }],
  ['branches: the tree is walked with the keyboard', async ({ page, server, home }) => {
    game(home, 'tree');
    home.run(['fork', 'tree', '--turn', '2', '--id', 'tree-a']);
    home.run(['fork', 'tree-a', '--turn', '1', '--id', 'tree-b']);
    await openSession(page, server, 'tree');
    await tab(page, 'Branches');
    const items = page.getByRole('treeitem');
    await until('three lanes', async () => await items.count() === 3);
    await items.first().focus();
    await page.keyboard.press('ArrowRight');
    same(await page.evaluate(() => document.activeElement.getAttribute('aria-level')), '2');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowLeft');
    same(await page.evaluate(() => document.activeElement.getAttribute('aria-level')), '2');
    await page.keyboard.press('Enter');
    await atTurn(page, 2, 2);
    check(decodeURIComponent(page.url()).includes('tree-a'), page.url());
  }],
  ['branches: two are compared from the tree', async ({ page, server, home }) => {
    game(home, 'pair');
    home.run(['fork', 'pair', '--turn', '2', '--id', 'pair-a']);
    home.append('pair-a', { actor: 'gm', narration: 'Quite another end.', deltas: [{ scope: 'world', deltas: [{ op: 'set', path: 'end', value: true }] }] });
    await openSession(page, server, 'pair');
    await tab(page, 'Branches');
    await page.getByRole('treeitem').nth(1).focus();
    await page.keyboard.press('c');
    await sees(page, 'main', 'The same up to turn 2');
    await sees(page, '.compare ins', 'Quite');
    await sees(page, 'table', 'world.end');
    await page.getByRole('button', { name: 'Show the common turns' }).click();
    await sees(page, '.compare .same', 'Trust 5.');
  }],
  ['travel: pictures of the timeline show amounts of change', async ({ page, server }) => {
    await openSession(page, server, 'gate');
    await page.locator('.timeline .size').first().waitFor({ state: 'attached' });
    same(await page.locator('.timeline .size').count(), 2);
  }],
];
