// Hostile texts, and pages of other origins.

import http from 'node:http';

import { HOSTILE, check, same } from './harness.mjs';
import { key, list, openSession, sees, tab, until } from './steps.mjs';

/** A page of another origin, with what it may try. */
async function attacker(html) {
  const server = http.createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(html);
  });
  await new Promise(resolve => { server.listen(0, '127.0.0.1', resolve); });
  return { base: `http://localhost:${server.address().port}`, stop: () => server.close() };
}

/** Runs a script in a page of another origin, in a browser that is logged in. */
async function attack(context, script, argument) {
  const evil = await attacker('<!doctype html><title>evil</title>');
  const page = await context.newPage();
  await page.goto(evil.base);
  const result = await page.evaluate(script, argument);
  await page.close();
  evil.stop();
  return result;
}

export const hostile = [
  ['hostile: in a list', async ({ page, server }) => {
    await page.goto(`${server.base}/#/`);
    await page.getByLabel('Filter sessions').fill('onerror');
    await until('the title as text', async () => (await page.locator('.window').innerText()).includes(HOSTILE[1]));
  }],
  ['hostile: in texts, speakers and states', async ({ page, server }) => {
    await openSession(page, server, 'hostile');
    const whole = await page.locator('.turns').innerText();
    for (const text of HOSTILE.slice(0, 3)) check(whole.includes(text), text);
    for (const name of ['State', 'Changes']) { await tab(page, name); await page.waitForTimeout(200); }
    same(await page.locator('.turns script, .turns iframe, .turns style, .turns svg, .turns img, #panel script, #panel img').count(), 0);
    same(await page.locator('a[href^="javascript"]').count(), 0);
  }],
  ['hostile: in chats', async ({ page, server }) => {
    await openSession(page, server, 'hostile-chat');
    same(await page.locator('.turns script, .turns iframe, .turns style, .turns img').count(), 0);
    same(await page.locator('h1 img').count(), 0);
  }],
  ['hostile: in search and comparison', async ({ page, server }) => {
    await page.goto(`${server.base}/#/search/${encodeURIComponent('"window.ran"')}`);
    await page.locator('.hits li').first().waitFor();
    await page.goto(`${server.base}/#/compare/hostile/hostile-chat`);
    await page.locator('.compare').waitFor();
    same(await page.locator('.compare script, .compare img').count(), 0);
  }],
  ['hostile: in addresses', async ({ page, server }) => {
    for (const text of [...HOSTILE, '%', '%E0%A4%A']) {
      await page.goto(`${server.base}/#/session/${encodeURIComponent(text)}`);
      await page.goto(`${server.base}/#/search/${encodeURIComponent(text)}`);
    }
    await page.goto(`${server.base}/#/session/%E0%A4%A`);
    await sees(page, 'main', 'This cannot be shown');
  }, { refused: true }],
  ['hostile: typed into every field', async ({ page, server, home }) => {
    home.run(['new', 'game', '--id', 'typed']);
    home.append('typed', { actor: 'gm', narration: 'Here.' });
    await openSession(page, server, 'typed');
    for (const text of HOSTILE.slice(0, 4)) {
      await page.getByLabel('Message').fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
      await until('it is there', async () => (await page.locator('.turns').innerText()).includes(text));
    }
    await key(page, 'm');
    await page.getByLabel(/Name of the bookmark/).fill(HOSTILE[1]);
    await page.keyboard.press('Enter');
    await tab(page, 'Marks');
    await sees(page, '#panel', HOSTILE[1]);
  }],
  ['hostile: the pages without JavaScript', async ({ page, server }) => {
    for (const at of ['/plain', '/plain/hostile', '/plain/hostile-chat', `/plain?q=${encodeURIComponent(HOSTILE[0])}`]) {
      await page.goto(`${server.base}${at}`);
      same(await page.locator('main script, main img, main iframe, main svg').count(), 0, at);
    }
  }],
  ['attack: another origin reads nothing', async ({ context, server }) => {
    const seen = await attack(context, async base => {
      const results = [];
      for (const at of ['/api/v1/sessions', '/api/v1/sessions/gate/entries', '/api/v1/openapi.json', '/plain', '/api/v1/events']) {
        for (const mode of ['cors', 'no-cors']) {
          try {
            const answer = await fetch(base + at, { credentials: 'include', mode });
            results.push(`${at} ${mode} ${answer.type} ${(await answer.text()).length}`);
          } catch { results.push('refused'); }
        }
      }
      return results;
    }, server.base);
    for (const each of seen) check(each === 'refused' || /opaque 0$/.test(each), each);
  }],
  ['attack: another origin changes nothing', async ({ context, server }) => {
    const before = await server.ask('GET', '/sessions/gate');
    await attack(context, async base => {
      const body = JSON.stringify({ data: { actor: 'evil', narration: 'evil' } });
      for (const type of ['application/json', 'text/plain']) {
        await fetch(`${base}/api/v1/sessions/gate/append`, { method: 'POST', body, mode: 'no-cors', credentials: 'include', headers: { 'content-type': type } }).catch(() => {});
      }
      navigator.sendBeacon(`${base}/api/v1/sessions/gate/trash`, '{}');
      const form = document.createElement('form');
      Object.assign(form, { method: 'POST', action: `${base}/api/v1/sessions/gate/trash`, enctype: 'text/plain', target: '_blank' });
      form.innerHTML = '<input name="{}" value="">';
      document.body.append(form);
      form.submit();
      await new Promise(resolve => { setTimeout(resolve, 800); });
    }, server.base);
    same(await server.ask('GET', '/sessions/gate'), before);
  }],
  ['attack: another origin frames nothing', async ({ context, server }) => {
    const evil = await attacker(`<!doctype html><iframe src="${server.base}/"></iframe><iframe src="${server.base}/plain"></iframe><object data="${server.base}/"></object><embed src="${server.base}/">`);
    const page = await context.newPage();
    await page.goto(evil.base);
    await page.waitForTimeout(800);
    for (const frame of page.frames().slice(1)) check(!(await frame.content().catch(() => '')).includes('Everturn'), frame.url());
    await page.close();
    evil.stop();
  }],
  ['attack: another origin loads nothing as a script or picture', async ({ context, server }) => {
    const loaded = await attack(context, async base => Promise.all([['script', '/app.js'], ['script', '/api/v1/sessions'], ['img', '/api/v1/sessions/tale/attachment?turn=3&seq=3&number=1'], ['link', '/app.css']].map(([tag, at]) => new Promise(resolve => {
      const node = document.createElement(tag);
      node.onload = () => resolve(`${at} loaded`);
      node.onerror = () => resolve('refused');
      if (tag === 'link') { node.rel = 'stylesheet'; node.href = base + at; } else node.src = base + at;
      document.head.append(node);
      setTimeout(() => resolve('refused'), 3000);
    }))), server.base);
    same(loaded, ['refused', 'refused', 'refused', 'refused']);
  }],
  ['attack: a name that points to this machine is refused', async ({ browser, server }) => {
    // DNS rebinding: the page of evil.example is loaded from the server itself.
    const port = new URL(server.base).port;
    const { chromium } = await import('./harness.mjs');
    const rebound = await chromium.launch({ executablePath: process.env.EVERTURN_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP evil.example 127.0.0.1'] });
    const page = await rebound.newPage();
    for (const at of ['/', '/api/v1', '/login?code=x']) {
      const answer = await page.goto(`http://evil.example:${port}${at}`);
      same(answer.status(), 403, at);
      check((await page.content()).includes('unknown_host'), at);
    }
    await rebound.close();
    check(browser, 'the other browser is still there');
  }],
  ['attack: a code works once, and is in no address afterwards', async ({ browser, server }) => {
    const fresh = await browser.browser.newContext();
    const { code } = await server.ask('POST', '/codes', {});
    const page = await fresh.newPage();
    await page.goto(`${server.base}/login?code=${code}`);
    check(!page.url().includes('code'), page.url());
    const cookies = await fresh.cookies();
    check(cookies.length === 1 && cookies[0].httpOnly && cookies[0].sameSite === 'Strict', JSON.stringify(cookies));
    same(await page.evaluate(() => document.cookie), '');
    await fresh.clearCookies();
    const again = await page.goto(`${server.base}/login?code=${code}`);
    check(again.status() >= 400, `${again.status()}`);
    await fresh.close();
  }],
  ['attack: without a login there is nothing to see', async ({ browser, server }) => {
    const fresh = await browser.browser.newContext();
    const page = await fresh.newPage();
    await page.goto(`${server.base}/`);
    await sees(page, 'main', 'Open the URL that everturn serve has printed');
    check(!(await page.content()).includes('Vex'), 'no names');
    await fresh.close();
    check(await list(page).count().catch(() => 0) === 0, 'no rows');
  }],
];
