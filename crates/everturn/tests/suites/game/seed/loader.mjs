// The reader that the document of the format describes, and a process that compares its answers with those of
// Everturn. It knows only what the document says: no field that is specific to Everturn, and no code of it.
//
// Each line of the input is {"name", "files", "states", "turn", "from"}: the texts of the files that have changed (null
// for one that is gone), the states after turns, and the first turn to compare. Each is answered with one line, the
// list of what is wrong.
import { createInterface } from 'node:readline';
import { isDeepStrictEqual } from 'node:util';

class SessionLoader {
  constructor(files) {
    this.files = files;
  }

  text(path) {
    const text = this.files.get(path);
    if (text === undefined) throw new Error(`${path} does not exist`);
    return text;
  }

  load(path) {
    return JSON.parse(this.text(path));
  }

  quickResume() {
    const meta = this.load('session.meta.json');
    const worldState = this.load(meta.files.worldState);
    const playerState = this.load(meta.files.playerState);
    const currentScene = meta.files.currentScene === null ? null : this.load(meta.files.currentScene);
    return { meta, worldState, playerState, currentScene };
  }

  findNearestSnapshot(targetTurn) {
    const { snapshots } = this.load('indexes/delta-index.json');
    const before = snapshots.filter((snapshot) => snapshot.turnId <= targetTurn);
    if (before.length === 0) throw new Error(`no snapshot at or before turn ${targetTurn}`);
    before.sort((a, b) => a.turnId - b.turnId);
    return this.load(before[before.length - 1].file);
  }

  jumpToTurn(targetTurn) {
    const snapshot = this.findNearestSnapshot(targetTurn);
    let worldState = JSON.parse(JSON.stringify(snapshot.worldState));
    let playerState = JSON.parse(JSON.stringify(snapshot.playerState));
    for (const deltaGroup of this.loadDeltasRange(snapshot.turnId + 1, targetTurn)) {
      for (const delta of deltaGroup.deltas) {
        if (deltaGroup.scope === 'world') {
          worldState = this.applyDelta(worldState, delta);
        } else if (deltaGroup.scope === 'player') {
          playerState = this.applyDelta(playerState, delta);
        }
      }
    }
    return { worldState, playerState, turn: targetTurn };
  }

  applyDelta(state, delta) {
    const pathParts = delta.path.split('.');
    let current = state;
    for (let i = 0; i < pathParts.length - 1; i++) {
      current = current[pathParts[i]];
    }
    const key = pathParts[pathParts.length - 1];
    switch (delta.op) {
      case 'set':
        current[key] = delta.value;
        break;
      case 'delete':
        delete current[key];
        break;
      case 'push':
        current[key].push(delta.value);
        break;
      case 'pull':
        current[key] = current[key].filter((v) => v !== delta.value);
        break;
      case 'increment':
        current[key] += delta.value;
        break;
      default:
        throw new Error(`unknown operation ${delta.op}`);
    }
    return state;
  }

  lines(path, startTurn, endTurn) {
    const lines = this.text(path).split('\n').filter((line) => line.trim());
    const rows = lines.map((line) => JSON.parse(line));
    return rows.filter((row) => row.turnId >= startTurn && row.turnId <= endTurn);
  }

  loadDeltasRange(startTurn, endTurn) {
    const index = this.load('indexes/delta-index.json');
    const relevant = index.files.filter(({ turnRange }) => turnRange[0] <= endTurn && turnRange[1] >= startTurn);
    const deltas = relevant.flatMap(({ file }) => this.lines(`deltas/${file}`, startTurn, endTurn));
    return deltas.sort((a, b) => a.turnId - b.turnId);
  }

  loadTurnsRange(startTurn, endTurn) {
    const index = this.load('indexes/turn-index.json');
    const relevant = index.files.filter(({ range }) => range[0] <= endTurn && range[1] >= startTurn);
    const turns = relevant.flatMap(({ file }) => this.lines(`turns/${file}`, startTurn, endTurn));
    return turns.sort((a, b) => a.turnId - b.turnId);
  }
}

function unstamped(state) {
  if (state === null || typeof state !== 'object') return state;
  const { lastUpdated, ...rest } = state;
  return rest;
}

function compare(loader, states, last, from) {
  const wrong = [];
  const expect = (what, found, expected) => {
    if (!isDeepStrictEqual(found, expected)) {
      wrong.push(`${what}: ${JSON.stringify(found)}, expected ${JSON.stringify(expected)}`);
    }
  };
  const attempt = (what, work) => {
    try {
      work();
    } catch (error) {
      wrong.push(`${what}: ${error.message}`);
    }
  };
  attempt('quickResume', () => {
    const { meta, worldState, playerState, currentScene } = loader.quickResume();
    const { world, player, scene } = states.get(last);
    expect('current.turnId', meta.current.turnId, last);
    expect('stats.totalTurns', meta.stats.totalTurns, last);
    expect('the world', unstamped(worldState), world);
    expect('the player', unstamped(playerState), player);
    expect('the scene', currentScene, scene);
    for (const file of ['currentTurns', 'currentDeltas', 'latestSnapshot']) loader.text(meta.files[file]);
  });
  attempt('loadTurnsRange', () => {
    const turns = loader.loadTurnsRange(1, last).map(({ turnId }) => turnId);
    expect('turns', turns, Array.from({ length: last }, (_, at) => at + 1));
  });
  for (let turn = from; turn <= last; turn++) {
    attempt(`jumpToTurn ${turn}`, () => {
      const { worldState, playerState } = loader.jumpToTurn(turn);
      expect(`the world at ${turn}`, unstamped(worldState), states.get(turn).world);
      expect(`the player at ${turn}`, unstamped(playerState), states.get(turn).player);
    });
  }
  attempt('turn-index', () => {
    const { totalTurns, turnOffsets } = loader.load('indexes/turn-index.json');
    expect('totalTurns', totalTurns, last);
    for (const [turn, { file, line }] of Object.entries(turnOffsets)) {
      const row = JSON.parse(loader.text(`turns/${file}`).split('\n')[line]);
      expect(`turn ${turn} in ${file}`, row.turnId, Number(turn));
    }
  });
  attempt('event-index', () => {
    const { totalEvents, byType } = loader.load('indexes/event-index.json');
    const counts = {};
    for (const { events } of loader.loadTurnsRange(1, last)) {
      for (const { type } of events) counts[type] = (counts[type] ?? 0) + 1;
    }
    expect('byType', byType, counts);
    expect('totalEvents', totalEvents, Object.values(counts).reduce((sum, count) => sum + count, 0));
  });
  attempt('delta-index', () => {
    const { totalDeltas, byScope, byOperation } = loader.load('indexes/delta-index.json');
    const [scopes, operations] = [{}, {}];
    let total = 0;
    for (const { scope, deltas } of loader.loadDeltasRange(1, last)) {
      for (const { op } of deltas) {
        scopes[scope] = (scopes[scope] ?? 0) + 1;
        operations[op] = (operations[op] ?? 0) + 1;
        total += 1;
      }
    }
    const present = (counts) => Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
    expect('totalDeltas', totalDeltas, total);
    expect('byScope', present(byScope), scopes);
    expect('byOperation', present(byOperation), operations);
  });
  attempt('scene-index', () => {
    const { totalScenes, scenes } = loader.load('indexes/scene-index.json');
    expect('totalScenes', totalScenes, scenes.length);
    const open = scenes.filter(({ turnRange }) => turnRange[1] === null);
    if (open.length > 1) wrong.push(`open scenes: ${JSON.stringify(open)}`);
  });
  attempt('scenes', () => {
    const scenes = [...loader.files.keys()].filter((path) => path.startsWith('scenes/'));
    const active = scenes.filter((path) => loader.load(path).status === 'active');
    if (active.length > 1) wrong.push(`active scenes: ${active.join(', ')}`);
    for (const path of scenes) {
      const { turnRange } = loader.load(path).time;
      if (turnRange[0] > last || turnRange[1] > last) wrong.push(`${path}: ${JSON.stringify(turnRange)} of ${last}`);
    }
  });
  return wrong;
}

const sessions = new Map();
for await (const line of createInterface({ input: process.stdin })) {
  const { name, files, states, turn, from } = JSON.parse(line);
  if (!sessions.has(name)) sessions.set(name, { files: new Map(), states: new Map() });
  const session = sessions.get(name);
  for (const [path, text] of Object.entries(files)) {
    if (text === null) session.files.delete(path);
    else session.files.set(path, text);
  }
  for (const [number, state] of Object.entries(states)) session.states.set(Number(number), state);
  const wrong = compare(new SessionLoader(session.files), session.states, turn, from);
  process.stdout.write(`${JSON.stringify(wrong.slice(0, 20))}\n`);
}
