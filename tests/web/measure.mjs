// How fast the app is: first paint, long lists, long sessions, scrubbing, memory, transferred bytes.

import { openSession, until } from './steps.mjs';

const SESSIONS = Number(process.env.EVERTURN_WEB_SESSIONS ?? 20_000);
const TURNS = Number(process.env.EVERTURN_WEB_TURNS ?? 100_000);
/** Turns of a live tail: as many as an hour has at one per second. */
const LIVE = Number(process.env.EVERTURN_WEB_LIVE ?? 3600);

function percentile(values, part) {
  const sorted = [...values].sort((one, two) => one - two);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
}

const ms = value => `${Math.round(value)} ms`;

async function heap(page) {
  const client = await page.context().newCDPSession(page);
  await client.send('HeapProfiler.collectGarbage');
  const { usedSize } = await client.send('Runtime.getHeapUsage');
  await client.detach();
  return usedSize / 2 ** 20;
}

export async function measure(browser, server) {
  const { home } = server;
  const lines = Array.from({ length: TURNS }, (_, at) => JSON.stringify({ actor: at % 2 ? 'player' : 'gm', narration: `Step ${at + 1}. The road goes on between the hills.`, deltas: [{ scope: 'world', deltas: [{ op: 'set', path: `places.p${at % 50}`, value: at }] }] }));
  home.run(['new', 'game', '--id', 'huge']);
  home.run(['append', 'huge', '--lines'], `${lines.join('\n')}\n`);
  for (let at = 0; at < SESSIONS; at += 1) {
    const id = `bbbb${String(at).padStart(4, '0').slice(0, 4)}-0000-4000-8000-${String(at).padStart(12, '0')}`;
    home.write(`.pi/agent/sessions/--srv-many--/2026-02-01T10-00-00-000Z_${id}.jsonl`, `${JSON.stringify({ type: 'session', version: 3, id, timestamp: '2026-02-01T10:00:00.000Z', cwd: '/srv/many' })}\n${JSON.stringify({ type: 'message', id: 'a1', parentId: null, timestamp: '2026-02-01T10:00:01.000Z', message: { role: 'user', content: [{ type: 'text', text: `Session number ${at}` }], timestamp: 1769940001000 } })}\n`);
  }
  const context = await browser.context(server);
  let bytes = 0;
  const page = await context.newPage();
  const client = await context.newCDPSession(page);
  await client.send('Network.enable');
  client.on('Network.loadingFinished', event => { bytes += event.encodedDataLength; });
  const paint = [];
  for (let round = 0; round < 5; round += 1) {
    await page.goto(`${server.base}/?${round}#/trash`);
    await page.locator('h1').waitFor();
    paint.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0));
    if (round === 0) console.log(`transferred by the app: ${Math.round(bytes / 1024)} KiB`);
  }
  console.log(`first paint: median ${ms(percentile(paint, 0.5))}, worst ${ms(Math.max(...paint))}`);

  const lists = [];
  for (let round = 0; round < 4; round += 1) {
    await page.goto('about:blank');
    const start = Date.now();
    await page.goto(`${server.base}/#/`);
    await page.locator('.window-row').first().waitFor();
    lists.push(Date.now() - start);
  }
  console.log(`list of ${SESSIONS} sessions: first ${ms(lists[0])}, then ${lists.slice(1).map(ms).join(', ')}`);

  const opens = [];
  for (const turn of [TURNS / 2, TURNS / 2 + 7, TURNS / 4, TURNS]) {
    await page.goto('about:blank');
    const start = Date.now();
    await openSession(page, server, 'huge', turn);
    await page.locator('article.entry.current').waitFor();
    opens.push(Date.now() - start);
  }
  console.log(`open at a turn of ${TURNS}: first ${ms(opens[0])}, then ${opens.slice(1).map(ms).join(', ')}`);

  await openSession(page, server, 'huge', TURNS / 2);
  await page.evaluate(() => document.activeElement?.blur());
  const steps = [];
  for (let step = 1; step <= 100; step += 1) {
    const took = await page.evaluate(wanted => new Promise(resolve => {
      const start = performance.now();
      const look = () => {
        if (document.querySelector('#panel')?.textContent?.includes(`As of turn ${wanted}`) && document.querySelector('article.current')?.getAttribute('data-turn') === String(wanted)) resolve(performance.now() - start);
        else requestAnimationFrame(look);
      };
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }));
      look();
    }), TURNS / 2 + step);
    steps.push(took);
  }
  console.log(`scrub 100 steps: p50 ${ms(percentile(steps, 0.5))}, p95 ${ms(percentile(steps, 0.95))}, worst ${ms(Math.max(...steps))}`);

  home.run(['new', 'game', '--id', 'tail']);
  home.append('tail', { actor: 'gm', narration: 'Start.' });
  await openSession(page, server, 'tail');
  const before = await heap(page);
  const sizes = [];
  for (let part = 1; part <= 4; part += 1) {
    const some = Array.from({ length: LIVE / 4 }, (_, at) => ({ actor: 'gm', narration: `Line ${part}-${at}. ${'word '.repeat(40)}` }));
    for (let at = 0; at < some.length; at += 20) home.append('tail', ...some.slice(at, at + 20));
    await until('the last turn', async () => (await page.locator('.turn-number').innerText()).startsWith(`${1 + part * (LIVE / 4)} /`));
    sizes.push(await heap(page));
  }
  console.log(`memory of a live tail: ${before.toFixed(1)} MiB before, then after each ${LIVE / 4} turns ${sizes.map(size => size.toFixed(1)).join(', ')} MiB; ${await page.locator('article.entry').count()} articles in the page`);
  await context.close();
}
