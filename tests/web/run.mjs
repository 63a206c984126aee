// The web app in headless Chromium: what people do with it, and what must never happen.
//
//     node run.mjs --everturn PROGRAM [--only TEXT] [--pictures DIR] [--assets DIR] [--measure]
//
// Every scenario fails if the page throws, if its policy refuses something, or if anything is requested from elsewhere.

import path from 'node:path';
import { parseArgs } from 'node:util';

import { Browser, Home, Server, fill } from './harness.mjs';
import { hostile } from './hostile.mjs';
import { kind } from './kind.mjs';
import { lists } from './lists.mjs';
import { measure } from './measure.mjs';
import { pictures } from './pictures.mjs';
import { play } from './play.mjs';
import { reading } from './reading.mjs';
import { resilience } from './resilience.mjs';
import { travel } from './travel.mjs';

const { values } = parseArgs({ options: {
  everturn: { type: 'string' }, only: { type: 'string', default: '' }, pictures: { type: 'string' }, assets: { type: 'string' },
  measure: { type: 'boolean' },
} });
const home = new Home(path.resolve(values.everturn));
const browser = await new Browser().start(values.assets && path.resolve(values.assets));
let failed = 0;
let passed = 0;
try {
  fill(home);
  const server = await new Server(home).start();
  if (values.pictures) await pictures(browser, server, values.pictures);
  else if (values.measure) await measure(browser, server);
  else {
    const context = await browser.context(server);
    for (const [name, scenario, options = {}] of [...lists, ...reading, ...travel, ...play, ...kind, ...hostile, ...resilience]) {
      if (!name.includes(values.only)) continue;
      const { page, problems } = await browser.page(context, server.base);
      const started = Date.now();
      try {
        await page.goto(`${server.base}/`);
        await page.evaluate(() => localStorage.setItem('seen', JSON.stringify({ start: '2000-01-01T00:00:00Z', times: {} })));
        await scenario({ page, server, home, context, browser, problems });
        const left = problems.filter(text => !(options.refused && /Failed to load resource/.test(text)));
        if (left.length > 0) throw new Error(left.join('; '));
        if (await page.evaluate(() => 'ran' in window).catch(() => false)) throw new Error('markup of a session ran');
        passed += 1;
        console.log(`ok ${name} (${Date.now() - started} ms)`);
      } catch (error) {
        failed += 1;
        const seen = await page.evaluate(() => document.body.innerText.slice(0, 1500)).catch(() => '');
        console.log(`FAILED ${name}: ${error.stack}\n--- the page says:\n${seen}\n--- problems: ${problems.join('; ')}`);
      }
      await page.close();
    }
    await context.close();
    console.log(`${passed} scenarios passed, ${failed} failed`);
  }
  await server.stop();
} finally {
  await browser.stop();
  home.remove();
}
process.exitCode = failed > 0 ? 1 : 0;
