// Three concurrent writers in one process: each has a game, a thread that all share, and a transcript.

import { Game, Root } from "everturn";
import { EverturnSessionStore } from "everturn/claude-agent-sdk";

const [place, name] = process.argv.slice(2);
const root = await Root.open(place, { wait: 60 });
const store = new EverturnSessionStore(root);
const report = (line) => process.stdout.write(`${line}\n`);

async function write(number) {
  const game = await Game.create(root, `${name}-${number}`);
  for (let at = 0; ; at += 1) {
    const text = `${name}.${number}.${at}`;
    await game.append({ actor: "player", narration: text });
    report(`game ${text}`);
    await root.thread("shared").append([{ role: "user", content: text }]);
    report(`item ${text}`);
    await store.append({ projectKey: "p", sessionId: "s" }, [{ type: "user", uuid: text }]);
    report(`entry ${text}`);
  }
}

await Promise.all([0, 1, 2].map(write));
