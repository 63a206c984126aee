// Pictures of every view: on a desktop and on a phone, light and dark.

import path from 'node:path';

import { openSession, tab } from './steps.mjs';

const SAMPLE = [
  ['The gate is older than the town. Moss has closed over the names of the masons, and only the *last* of them can still be read.', 'gate', 'shut'],
  ['You push. The hinges complain, and then they give.', 'gate', 'open'],
  ['Luna is waiting behind it, a lantern in her hand. “You took your time,” she says, but she smiles.', 'npcs.luna.trust', 3],
  ['You tell her about the letter. She reads it twice, and folds it into her sleeve.', 'npcs.luna.trust', 5],
  ['“Then we go tonight,” she says. Below you, the first bells of the evening begin.', 'scene.time', 'evening'],
];

function fillHome(home) {
  home.run(['new', 'game', '--id', 'lantern-street', '--name', 'Lantern Street']);
  home.append('lantern-street', ...SAMPLE.map(([narration, at, value], index) => ({ actor: index % 2 ? 'player' : 'gm', narration, deltas: [{ scope: 'world', deltas: [{ op: 'set', path: at, value }] }] })));
  home.run(['fork', 'lantern-street', '--turn', '3', '--id', 'lantern-street-alone']);
  home.append('lantern-street-alone', { actor: 'player', narration: 'You keep the letter to yourself.', deltas: [{ scope: 'world', deltas: [{ op: 'set', path: 'npcs.luna.trust', value: 1 }] }] });
  home.run(['fork', 'lantern-street-alone', '--turn', '2', '--id', 'lantern-street-back']);
}

export async function pictures(browser, server, dir) {
  fillHome(server.home);
  await server.ask('POST', '/sessions', { format: 'campaign', id: 'the-road' });
  for (const line of ['', 'look around', 'go north']) await server.ask('POST', '/sessions/the-road/play', { do: 'say', line });
  await server.ask('POST', '/sessions/lantern-street/marks', { name: 'Luna smiles', turn: 3 });
  const views = [
    ['sessions', '#/', '.window-row'], ['session', '#/session/lantern-street', 'article.entry', 'State'],
    ['branches', '#/session/lantern-street/turn/3', 'article.entry', 'Branches'], ['agent', '#/session/11111111-0000-4000-8000-000000000001', 'article.entry'],
    ['campaign', '#/session/the-road', 'article.entry', 'Table'], ['chat', '#/session/tale', 'article.entry'],
    ['compare', '#/compare/lantern-street/lantern-street-alone', '.compare'], ['search', '#/search/lantern', '.hits li'],
    ['costs', '#/stats/day', 'table.data'], ['health', '#/check/lantern-street', 'h2'], ['retention', '#/retention', 'main strong'],
  ];
  for (const [device, viewport] of [['desktop', { width: 1280, height: 800 }], ['phone', { width: 390, height: 780 }]]) {
    for (const theme of ['light', 'dark']) {
      const context = await browser.context(server, { viewport, colorScheme: theme, reducedMotion: 'reduce' });
      for (const [name, hash, there, panel] of views) {
        const page = await context.newPage();
        await page.goto(`${server.base}/${hash}`);
        await page.locator(there).first().waitFor();
        if (panel && device === 'desktop') await tab(page, panel);
        if (name === 'agent') await page.locator('summary', { hasText: 'Edited' }).click();
        await page.waitForTimeout(500);
        await page.screenshot({ path: path.join(dir, `web-${name}-${device}-${theme}.png`) });
        await page.close();
      }
      await context.close();
    }
  }
  const context = await browser.context(server);
  const page = await context.newPage();
  await openSession(page, server, 'lantern-street');
  await page.keyboard.press('Control+k');
  await page.waitForTimeout(300);
  await page.screenshot({ path: path.join(dir, 'web-palette-desktop-light.png') });
  await context.close();
}
