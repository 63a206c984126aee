// What the scenarios need: a home with sessions of every format, a server, and pages that notice everything that goes wrong.

import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createRequire } from 'node:module';

export const TOOLS = path.resolve(import.meta.dirname, '../../target/web');
const require = createRequire(path.join(TOOLS, 'package.json'));
export const { chromium } = require('playwright-core');
export const AXE = require.resolve('axe-core/axe.min.js');

/** How long a page may take until something is seen, in milliseconds. */
const PATIENCE = 60_000;

/** Texts that must be shown as they are, in every field. */
export const HOSTILE = [
  '<script>window.ran=1</script>', '<img src=x onerror="window.ran=1">', '"><svg onload=window.ran=1>',
  'javascript:window.ran=1', '[link](javascript:window.ran=1)', '![p](https://example.com/p.png)',
  '<iframe src="https://example.com"></iframe>', "'; window.ran=1; '", '{{constructor.constructor("window.ran=1")()}}',
  '<style>@import "https://example.com/a.css"</style>', '\u202egnp.exe', '<a href="//example.com" onclick="window.ran=1">x</a>',
];

export function fail(what) {
  throw new Error(what);
}

export function check(condition, what) {
  if (!condition) fail(what);
}

export function same(seen, expected, what = 'value') {
  const [one, two] = [JSON.stringify(seen), JSON.stringify(expected)];
  if (one !== two) fail(`${what}: ${one} instead of ${two}`);
}

/** A directory that is the home of a user, with the program that is tested. */
export class Home {
  constructor(program) {
    this.program = program;
    this.dir = fs.mkdtempSync(path.join(os.tmpdir(), 'everturn-web-'));
    this.env = { HOME: this.dir, PATH: process.env.PATH, EVERTURN_MOUNTINFO: '/dev/null' };
  }

  /** Runs a command that must succeed. */
  run(words, input = '') {
    const done = spawnSync(this.program, words, { cwd: this.dir, env: this.env, input, encoding: 'utf8' });
    if (done.status !== 0) fail(`everturn ${words.join(' ')}: ${done.status} ${done.stderr}`);
    return done.stdout;
  }

  append(session, ...turns) {
    this.run(['append', session, '--lines', '--wait', '30'], turns.map(turn => `${JSON.stringify(turn)}\n`).join(''));
  }

  write(name, text) {
    const file = path.join(this.dir, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
    return file;
  }

  remove() {
    fs.rmSync(this.dir, { recursive: true, force: true });
  }
}

/** A running server. */
export class Server {
  constructor(home, options = []) {
    this.home = home;
    this.options = options;
  }

  async start() {
    this.log = '';
    this.process = spawn(this.home.program, ['serve', '--json', '--rate', '100000', ...this.options], { cwd: this.home.dir, env: this.home.env });
    this.process.stderr.on('data', data => { this.log += data; });
    this.ended = new Promise(resolve => this.process.on('exit', resolve));
    const line = await new Promise((resolve, reject) => {
      let text = '';
      this.process.stdout.on('data', data => { text += data; if (text.includes('\n')) resolve(text); });
      this.process.on('exit', code => reject(new Error(`the server ended with ${code}: ${this.log}`)));
    });
    ({ url: this.url, base: this.base, code: this.code } = JSON.parse(line));
    const answer = await fetch(`${this.base}/api/v1/token`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code: this.code }) });
    this.token = (await answer.json()).token;
    return this;
  }

  /** A request of a program. */
  async ask(method, at, body) {
    const headers = { authorization: `Bearer ${this.token}`, ...(body && { 'content-type': 'application/json' }) };
    const answer = await fetch(`${this.base}/api/v1${at}`, { method, headers, body: body && JSON.stringify(body) });
    const value = await answer.json();
    if (!answer.ok) fail(`${method} ${at}: ${answer.status} ${JSON.stringify(value)}`);
    return value;
  }

  async stop(signal = 'SIGTERM') {
    this.process.kill(signal);
    await this.ended;
  }
}

const GATE = [
  { actor: 'gm', narration: 'The gate opens. 門が開く。' },
  { actor: 'player', narration: 'You go in, and Luna smiles.', deltas: [{ scope: 'world', deltas: [{ op: 'set', path: 'npcs.luna.trust', value: 5 }] }] },
  { actor: 'gm', narration: 'She waves.', deltas: [{ scope: 'world', deltas: [{ op: 'set', path: 'npcs.luna.trust', value: 7 }] }] },
];
const T = '2026-01-01T10:00:0';

/** Sessions of every format, made as their programs make them. */
export function fill(home) {
  home.run(['new', 'game', '--id', 'gate', '--name', 'Vex']);
  home.append('gate', ...GATE);
  home.run(['new', 'game', '--id', 'long', '--name', 'Eva']);
  home.append('long', ...Array.from({ length: 300 }, (_, at) => ({
    actor: at % 2 ? 'player' : 'gm', narration: `Step ${at + 1}.`, deltas: [{ scope: 'world', deltas: [{ op: 'set', path: 'steps', value: at + 1 }] }],
  })));
  home.run(['new', 'chatlog', '--id', 'tale', '--title', 'A tale']);
  const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  home.append('tale', { type: 'narrator', text: '# Night\n\nA **bold** *start*.\n\n- one\n  - two\n\n```js\nconst a = "x"; // note\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |' },
    { type: 'protagonist', text: 'I look.' }, { type: 'narrator', content: { text: 'A map.', attachments: [{ type: 'image', url: pixel, description: 'A map of the town' }] } });
  home.run(['new', 'linggen', '--id', 'sess-1700000000-abcd1234']);
  home.append('sess-1700000000-abcd1234', { role: 'user', content: 'Fix the login.' }, { role: 'assistant', content: 'Done: `login.rs`.' });
  home.run(['new', 'codelia']);
  home.run(['new', 'thread', '--id', 'thread-1']);
  home.run(['new', 'game', '--id', 'hostile', '--name', HOSTILE[0]]);
  home.append('hostile', ...HOSTILE.map(text => ({ actor: text, narration: `${text}\n\n> ${text}\n\n- ${text}`, deltas: [{ scope: 'world', deltas: [{ op: 'set', path: 'x', value: { [text]: text } }] }] })));
  home.run(['new', 'chatlog', '--id', 'hostile-chat', '--title', HOSTILE[1]]);
  home.append('hostile-chat', ...HOSTILE.map(text => ({ type: 'npc', name: text, text })));
  const claude = (type, message, at) => JSON.stringify({ parentUuid: at > 1 ? `u${at - 1}` : null, isSidechain: false, cwd: '/srv/app', sessionId: '11111111-0000-4000-8000-000000000001', version: '1.0.98', type, message, uuid: `u${at}`, timestamp: `${T}${at}.000Z` });
  const called = (id, name, input) => ({ type: 'tool_use', id, name, input });
  home.write('.claude/projects/-srv-app/11111111-0000-4000-8000-000000000001.jsonl', [
    claude('user', { role: 'user', content: 'Please fix the lantern.' }, 1),
    claude('assistant', { id: 'm1', role: 'assistant', model: 'claude-sonnet-4', content: [{ type: 'thinking', thinking: 'The lantern needs oil.\nSo I look.' }, { type: 'text', text: 'I look at the file.' }, called('t1', 'Bash', { command: 'ls -la', description: 'List files' })], usage: { input_tokens: 120, output_tokens: 30, cache_read_input_tokens: 500 } }, 2),
    claude('user', { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'total 1\nlantern.js' }] }, 3),
    claude('assistant', { id: 'm2', role: 'assistant', model: 'claude-sonnet-4', content: [called('t2', 'Edit', { file_path: '/srv/app/lantern.js', old_string: 'let oil = 0', new_string: 'let oil = 1' })], usage: { input_tokens: 220, output_tokens: 40 } }, 4),
    claude('user', { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't2', content: 'ok' }] }, 5),
    claude('assistant', { id: 'm3', role: 'assistant', model: 'claude-sonnet-4', content: [{ type: 'text', text: `The lantern burns. ${HOSTILE[0]}` }], usage: { input_tokens: 20, output_tokens: 10 } }, 6),
  ].join('\n') + '\n');
  home.write('.pi/agent/sessions/--srv-app--/2026-01-01T10-00-00-000Z_aaaa1111-0000-4000-8000-000000000001.jsonl', [
    { type: 'session', version: 3, id: 'aaaa1111-0000-4000-8000-000000000001', timestamp: `${T}0.000Z`, cwd: '/srv/app' },
    { type: 'message', id: 'a1', parentId: null, timestamp: `${T}1.000Z`, message: { role: 'user', content: [{ type: 'text', text: 'The foreign lantern.' }], timestamp: 1767261601000 } },
  ].map(each => JSON.stringify(each)).join('\n') + '\n');
  home.write('.codex/sessions/2026/01/01/rollout-2026-01-01T10-00-00-22222222-0000-4000-8000-000000000002.jsonl', [
    { timestamp: `${T}0.000Z`, type: 'session_meta', payload: { id: '22222222-0000-4000-8000-000000000002', timestamp: `${T}0.000Z`, cwd: '/srv/app', originator: 'codex_cli_rs', cli_version: '0.50.0' } },
    { timestamp: `${T}1.000Z`, type: 'response_item', payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Count the lanterns.' }] } },
    { timestamp: `${T}2.000Z`, type: 'response_item', payload: { type: 'function_call', name: 'shell', arguments: '{"command":["wc","-l"]}', call_id: 'c1' } },
    { timestamp: `${T}3.000Z`, type: 'response_item', payload: { type: 'function_call_output', call_id: 'c1', output: '3' } },
    { timestamp: `${T}4.000Z`, type: 'response_item', payload: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Three.' }] } },
  ].map(each => JSON.stringify(each)).join('\n') + '\n');
}

/** A browser with pages that notice what goes wrong. */
export class Browser {
  async start(assets) {
    this.assets = assets;
    this.browser = await chromium.launch({ executablePath: process.env.EVERTURN_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
    return this;
  }

  /** A context that has logged in with a code of its own. */
  async context(server, options = {}) {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(PATIENCE);
    if (this.assets) await serveAssets(context, this.assets);
    const { code } = await server.ask('POST', '/codes', {});
    const page = await context.newPage();
    await page.goto(`${server.base}/login?code=${code}`);
    await page.close();
    return context;
  }

  /** A page, with the list of its problems. */
  async page(context, base) {
    const page = await context.newPage();
    const problems = [];
    page.on('pageerror', error => problems.push(`exception: ${error.message}`));
    page.on('console', message => {
      if (message.type() === 'error' || /content security policy/i.test(message.text())) problems.push(message.text());
    });
    page.on('request', request => {
      const url = request.url();
      if (!url.startsWith(base) && !/^(data|blob|about):/.test(url)) problems.push(`request to ${url}`);
    });
    page.on('dialog', dialog => { problems.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
    return { page, problems };
  }

  async stop() {
    await this.browser.close();
  }
}

/** Serves the files of the app from a directory instead of the binary, with its policy: for work on the app. */
async function serveAssets(context, dir) {
  await context.route(/:\d+\/([\w.]*)(\?.*)?$/, async route => {
    const name = new URL(route.request().url()).pathname.slice(1) || 'index.html';
    const file = path.join(dir, name);
    if (!fs.existsSync(file)) return route.continue();
    const types = { '.js': 'text/javascript', '.css': 'text/css', '.html': 'text/html' };
    return route.fulfill({
      body: fs.readFileSync(file), contentType: `${types[path.extname(file)]}; charset=utf-8`,
      headers: {
        'content-security-policy': "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        'x-content-type-options': 'nosniff',
      },
    });
  });
}
