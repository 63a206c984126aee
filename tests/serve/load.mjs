// Load on a server: 64 clients read and 16 write for some seconds; then the latency of live events from another process, and
// the memory of idle streams.
//
//     node load.mjs --everturn PROGRAM [--seconds N] [--minimal PROGRAM]
//
// The minimal server has the same two routes over axum and SQLite, one transaction with a flush per turn.

import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { everturn: { type: 'string' }, minimal: { type: 'string' }, seconds: { type: 'string', default: '30' } } });
const SECONDS = Number(values.seconds);
const [READERS, WRITERS, SESSIONS, STREAMS, COMMITS] = [64, 16, 16, 1000, 200];
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'everturn-load-'));
const env = { HOME: dir, PATH: process.env.PATH, EVERTURN_MOUNTINFO: '/dev/null' };

const at = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
const line = times => {
  const sorted = [...times].sort((one, two) => one - two);
  return `p50 ${at(sorted, 0.5).toFixed(1)} ms, p99 ${at(sorted, 0.99).toFixed(1)} ms, worst ${at(sorted, 1).toFixed(1)} ms`;
};

function memory(pid) {
  const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = name => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024;
  return { now: field('VmRSS'), peak: field('VmHWM') };
}

function run(words, input = '') {
  const done = spawnSync(values.everturn, words, { cwd: dir, env, input, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`${words.join(' ')}: ${done.stderr}`);
}

function request(agent, base, method, target, headers, body) {
  return new Promise((resolve, reject) => {
    const sent = http.request(base + target, { agent, method, headers: { ...headers, ...(body && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }) } }, answer => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function load(name, pid, base, headers, paths) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: READERS + WRITERS });
  const end = performance.now() + SECONDS * 1000;
  const [reads, writes] = [[], []];
  const client = async (times, make) => {
    for (let turn = 0; performance.now() < end; turn += 1) {
      const start = performance.now();
      const status = await request(agent, base, ...make(turn));
      if (status !== 200) throw new Error(`status ${status}`);
      times.push(performance.now() - start);
    }
  };
  await Promise.all([
    ...Array.from({ length: READERS }, (_, reader) => client(reads, () => ['GET', paths.read(reader % SESSIONS), headers])),
    ...Array.from({ length: WRITERS }, (_, writer) => client(writes, turn => ['POST', paths.write(writer % SESSIONS), headers, JSON.stringify({ data: { actor: 'player', narration: `Writer ${writer} says ${turn}.` } })])),
  ]);
  agent.destroy();
  const used = memory(pid);
  console.log(`${name}: ${READERS} readers, ${WRITERS} writers, ${SECONDS} s`);
  console.log(`  reads   ${Math.round(reads.length / SECONDS)}/s, ${line(reads)}`);
  console.log(`  writes  ${Math.round(writes.length / SECONDS)} durable turns/s, ${line(writes)}`);
  console.log(`  memory  ${used.now.toFixed(0)} MiB, at most ${used.peak.toFixed(0)} MiB`);
}

function follow(base, target, headers, seen) {
  return new Promise((resolve, reject) => {
    const sent = http.request(base + target, { headers, agent: false }, answer => {
      answer.setEncoding('utf8');
      answer.on('data', part => { if (part.includes('event: ready')) resolve(() => sent.destroy()); seen?.(part); });
    });
    sent.on('error', reject);
    sent.end();
  });
}

async function latency(base, headers) {
  const writer = spawn(values.everturn, ['session', 'live'], { cwd: dir, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const answers = readline.createInterface({ input: writer.stdout })[Symbol.asyncIterator]();
  const [seen, waiting] = [new Map(), new Map()];
  const stop = await follow(base, '/api/v1/sessions/live/events', headers, part => {
    for (const [, number] of part.matchAll(/Line (\d+)\./g)) { seen.set(number, performance.now()); waiting.get(number)?.(); }
  });
  const [sent, stored] = [[], []];
  for (let number = 0; number < COMMITS; number += 1) {
    const start = performance.now();
    writer.stdin.write(`${JSON.stringify({ id: number, request: 'append', data: { actor: 'gm', narration: `Line ${number}.` } })}\n`);
    const answer = JSON.parse((await answers.next()).value);
    if (!answer.ok) throw new Error(JSON.stringify(answer));
    const done = performance.now();
    if (!seen.has(String(number))) await new Promise(resolve => { waiting.set(String(number), resolve); });
    sent.push(seen.get(String(number)) - start);
    stored.push(Math.max(0, seen.get(String(number)) - done));
    await new Promise(resolve => { setTimeout(resolve, 20); });
  }
  stop();
  writer.stdin.end();
  console.log(`live events of another process, ${COMMITS} commits:`);
  console.log(`  from the acknowledged commit to the event: ${line(stored)}`);
  console.log(`  from the request to the event: ${line(sent)}`);
}

async function idle(pid, base, headers) {
  const before = memory(pid).now;
  const stops = [];
  for (let number = 0; number < STREAMS; number += 1) stops.push(await follow(base, `/api/v1/sessions/load-${number % SESSIONS}/events`, headers));
  await new Promise(resolve => { setTimeout(resolve, 1000); });
  console.log(`${STREAMS} idle streams: ${(memory(pid).now - before).toFixed(1)} MiB`);
  stops.forEach(stop => stop());
}

/** Ends a server, and waits until it has written everything. */
async function end(child) {
  const ended = new Promise(resolve => { child.on('exit', resolve); });
  child.kill();
  await ended;
}

async function ready(child) {
  const lines = readline.createInterface({ input: child.stdout });
  return (await lines[Symbol.asyncIterator]().next()).value;
}

try {
  for (let session = 0; session < SESSIONS; session += 1) run(['new', 'game', '--id', `load-${session}`]);
  run(['new', 'game', '--id', 'live']);
  const child = spawn(values.everturn, ['serve', '--json', '--rate', '1000000'], { cwd: dir, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const { base, code } = JSON.parse(await ready(child));
  const exchanged = await fetch(`${base}/api/v1/token`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ code }) });
  const headers = { authorization: `Bearer ${(await exchanged.json()).token}` };
  await idle(child.pid, base, headers);
  await latency(base, headers);
  await load('everturn', child.pid, base, headers, { read: session => `/api/v1/sessions/load-${session}/entries?last=5`, write: session => `/api/v1/sessions/load-${session}/append` });
  await end(child);
  if (values.minimal) {
    const minimal = spawn(values.minimal, [path.join(dir, 'minimal.db')], { stdio: ['ignore', 'pipe', 'inherit'] });
    const address = await ready(minimal);
    await load('axum and SQLite', minimal.pid, address, {}, { read: session => `/sessions/${session}/entries`, write: session => `/sessions/${session}/append` });
    await end(minimal);
  }
} finally {
  fs.rmSync(dir, { recursive: true, force: true });
}
