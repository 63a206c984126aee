// The writer that the document of the format describes: turns and changes with every turn, states "periodic, not every
// turn", snapshots after 100 turns or 500 changes. It knows nothing of Everturn.
//
// node writer.mjs DIRECTORY OPTIONS writes a session and prints the state after each turn, one line each. OPTIONS is
// {"session", "turns", "statesEvery", "metadata": "turn" | "states", "padded", "snapshots", "exit"}.
import { appendFile, mkdir, rename, writeFile } from 'node:fs/promises';

const [directory, text] = process.argv.slice(2);
const options = JSON.parse(text);
const short = options.session.replace(/^session-/, '');
const START = 1732557000000;
const padded = (number) => number.toString().padStart(4, '0');

class SessionWriter {
  constructor(dir) {
    this.dir = dir;
    this.currentTurn = 0;
    this.turnsStart = 1;
    this.deltasStart = 1;
    this.sceneId = 'scene-001';
    this.snapshots = [];
    this.totals = { deltas: 0, since: 0, lastSnapshot: 0, events: 0 };
    this.world = {
      worldId: `world-${short}`,
      sessionId: options.session,
      lastUpdated: '2025-11-25T10:30:00Z',
      locations: { discovered: ['loc-001'], generated: {} },
      npcs: { 'npc-luna': { currentLocation: 'loc-cafe', relationship: 0, knownFacts: [] } },
      quests: {},
      aspects: [{ name: 'Corporate Lockdown', scope: 'global', since: 1 }],
      scheduledEvents: [],
    };
    this.player = {
      characterId: `char-${short}`,
      sessionId: options.session,
      lastUpdated: '2025-11-25T10:30:00Z',
      name: 'Vex',
      stress: { physical: [false, false, false] },
      inventory: ['item-cyberdeck'],
      fatePoints: 3,
      location: { id: 'loc-001', zone: 'z0', arrived: 0 },
    };
    this.scene = this.newScene(1);
  }

  newScene(turn) {
    return {
      sceneId: this.sceneId,
      sessionId: options.session,
      type: 'exploration',
      status: 'active',
      location: { id: 'loc-001', name: 'Café', description: 'It rains.' },
      time: { started: { day: 1, timeOfDay: 'evening', hour: 18 }, ended: null, turnRange: [turn, null] },
      aspects: [],
      npcsPresent: [],
      zones: [],
      conflict: null,
      summary: { majorEvents: [], outcomePreview: null },
    };
  }

  path(name) {
    return `${this.dir}/${name}`;
  }

  document(name, value) {
    return writeFile(this.path(name), JSON.stringify(value, null, 2));
  }

  turnsFile() {
    return `turns/turns-${padded(this.turnsStart)}-current.jsonl`;
  }

  async begin() {
    for (const name of ['scenes', 'turns', 'deltas', 'snapshots', 'indexes']) {
      await mkdir(this.path(name), { recursive: true });
    }
    await writeFile(this.path(this.turnsFile()), '');
    await writeFile(this.path('deltas/deltas-current.jsonl'), '');
    await this.document(`scenes/${this.sceneId}.json`, this.scene);
    await this.updateState();
  }

  applyDelta(state, { op, path, value }) {
    const parts = path.split('.');
    const key = parts.pop();
    const current = parts.reduce((node, part) => node[part], state);
    if (op === 'set') current[key] = value;
    if (op === 'delete') delete current[key];
    if (op === 'push') current[key].push(value);
    if (op === 'pull') current[key] = current[key].filter((v) => v !== value);
    if (op === 'increment') current[key] += value;
  }

  // Turn N and its groups of changes.
  next() {
    const turnId = this.currentTurn + 1;
    const eventId = `${short}-${turnId}-1`;
    const player = [
      { op: 'set', path: 'location.zone', value: `z${turnId}`, previousValue: this.player.location.zone },
    ];
    if (turnId % 4 === 0) player.push({ op: 'push', path: 'inventory', value: `item-${turnId}` });
    if (turnId % 12 === 0) player.push({ op: 'pull', path: 'inventory', value: `item-${turnId - 4}` });
    const world = [{ op: 'increment', path: 'npcs.npc-luna.relationship', value: 5 }];
    if (turnId % 9 === 0) {
      world.push({ op: 'set', path: `quests.quest-${turnId}`, value: { status: 'active', progress: 0 } });
    }
    const quest = turnId - 5;
    if (`quest-${quest}` in this.world.quests) {
      world.push({ op: 'delete', path: `quests.quest-${quest}`, previousValue: this.world.quests[`quest-${quest}`] });
    }
    const groups = [];
    if (turnId % 7 !== 3) groups.push(['player', player], ['world', world]);
    const timestamp = START + turnId * 1000;
    const deltas = groups.map(([scope, deltas], at) => ({
      deltaId: `delta-${short}-${turnId}-${at + 1}`,
      turnId,
      eventId,
      timestamp,
      scope,
      deltas,
    }));
    const turn = {
      turnId,
      sceneId: this.sceneId,
      actor: turnId % 2 ? 'player' : 'gm',
      timestamp,
      gameTime: { day: 1 + Math.floor(turnId / 50), timeOfDay: 'evening' },
      actions: [{ type: 'move', zone: `z${turnId}` }],
      events: [{ eventId, type: 'move', description: `You walk to zone ${turnId}.` }],
      stateChanges: [],
    };
    return { turn, deltas };
  }

  async appendTurn(turn) {
    await appendFile(this.path(this.turnsFile()), `${JSON.stringify(turn)}\n`);
    this.currentTurn = turn.turnId;
    this.totals.events += turn.events.length;
    if (this.currentTurn - this.turnsStart + 1 >= 100) {
      const name = options.padded
        ? `turns-${padded(this.turnsStart)}-${padded(this.currentTurn)}`
        : `turns-${this.turnsStart}-${this.currentTurn}`;
      await rename(this.path(this.turnsFile()), this.path(`turns/${name}.jsonl`));
      this.turnsStart = this.currentTurn + 1;
      await writeFile(this.path(this.turnsFile()), '');
    }
  }

  async appendDeltas(deltas) {
    for (const group of deltas) {
      await appendFile(this.path('deltas/deltas-current.jsonl'), `${JSON.stringify(group)}\n`);
      for (const delta of group.deltas) this.applyDelta(group.scope === 'world' ? this.world : this.player, delta);
      this.totals.deltas += group.deltas.length;
      this.totals.since += group.deltas.length;
    }
    if (options.snapshots && (this.currentTurn - this.totals.lastSnapshot >= 100 || this.totals.since >= 500)) {
      await this.createSnapshot('checkpoint_interval');
    }
    if (this.currentTurn - this.deltasStart + 1 >= 100) {
      const name = options.padded
        ? `deltas-${padded(this.deltasStart)}-${padded(this.currentTurn)}`
        : `deltas-${this.deltasStart}-${this.currentTurn}`;
      await rename(this.path('deltas/deltas-current.jsonl'), this.path(`deltas/${name}.jsonl`));
      this.deltasStart = this.currentTurn + 1;
      await writeFile(this.path('deltas/deltas-current.jsonl'), '');
    }
  }

  async createSnapshot(reason) {
    const last = this.snapshots.at(-1);
    const snapshot = {
      snapshotId: `snapshot-${padded(this.currentTurn)}`,
      sessionId: options.session,
      turnId: this.currentTurn,
      timestamp: new Date(START + this.currentTurn * 1000).toISOString(),
      reason,
      deltaAggregation: {
        fromSnapshot: last ? last.snapshotId : null,
        deltasAggregated: this.totals.since,
        turnRange: [last ? last.turnId + 1 : 1, this.currentTurn],
      },
      worldState: this.world,
      playerState: this.player,
      activeScene: this.scene,
    };
    await this.document(`snapshots/snapshot-${padded(this.currentTurn)}.json`, snapshot);
    this.snapshots.push({ snapshotId: snapshot.snapshotId, turnId: this.currentTurn });
    this.totals.since = 0;
    this.totals.lastSnapshot = this.currentTurn;
  }

  async updateState() {
    await this.document('world.state.json', this.world);
    await this.document('player.state.json', this.player);
    await this.updateMetadata();
  }

  updateMetadata() {
    return this.document('session.meta.json', {
      sessionId: options.session,
      version: '1.0.0',
      created: '2025-11-25T10:30:00Z',
      lastModified: '2025-11-25T14:45:00Z',
      status: 'active',
      config: { theme: 'cyberpunk', difficulty: 'normal', seed: 12345, llmModel: 'granite4:latest' },
      player: { name: 'Vex', characterId: `char-${short}` },
      current: {
        turnId: this.currentTurn,
        sceneId: this.sceneId,
        locationId: this.player.location.id,
        gameDay: 1 + Math.floor(this.currentTurn / 50),
        gameTimeOfDay: 'evening',
      },
      files: {
        worldState: 'world.state.json',
        playerState: 'player.state.json',
        currentScene: `scenes/${this.sceneId}.json`,
        currentTurns: this.turnsFile(),
        currentDeltas: 'deltas/deltas-current.jsonl',
        latestSnapshot: this.snapshots.length ? `snapshots/snapshot-${padded(this.snapshots.at(-1).turnId)}.json` : null,
      },
      deltaStats: {
        totalDeltas: this.totals.deltas,
        deltasSinceSnapshot: this.totals.since,
        lastSnapshotTurn: this.totals.lastSnapshot,
      },
      stats: {
        totalTurns: this.currentTurn,
        totalScenes: 1,
        totalEvents: this.totals.events,
        playTimeMinutes: Math.floor(this.currentTurn / 60),
        conflictsResolved: 0,
        npcsEncountered: 1,
      },
    });
  }

  print() {
    const { world, player, scene } = this;
    process.stdout.write(`${JSON.stringify({ turn: this.currentTurn, world, player, scene })}\n`);
  }
}

const writer = new SessionWriter(`${directory}/sessions/active/${options.session}`);
await writer.begin();
writer.print();
while (writer.currentTurn < options.turns) {
  const { turn, deltas } = writer.next();
  await writer.appendTurn(turn);
  await writer.appendDeltas(deltas);
  if (writer.currentTurn % options.statesEvery === 0) await writer.updateState();
  else if (options.metadata === 'turn') await writer.updateMetadata();
  writer.print();
}
if (options.exit) {
  await writer.createSnapshot('session_end');
  await writer.updateState();
}
