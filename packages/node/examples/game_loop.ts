// A small game that can be killed at any moment: every reported turn is there when it starts again.
//
//     node game_loop.js saves 10

import { Game, Root } from "everturn";

/** Plays `turns` more turns, or until the process is killed. Each turn is reported when it is durable. */
export async function play(path: string, turns: number, report: (step: number) => void): Promise<void> {
  const root = await Root.open(path);
  const game = await Game.openOrCreate(root, "demo");
  let step: number = (await game.info())["turns"] ?? 0;
  const end = step + turns;
  while (step < end) {
    step += 1;
    const walk = { op: "set", path: "steps", value: step };
    const turn = { actor: "player", narration: `step ${step}`, deltas: [{ scope: "world", deltas: [walk] }] };
    await game.append(turn, { key: `step-${step}` });
    report(step);
  }
  await game.close();
  await root.close();
}

const [path, turns] = process.argv.slice(2);
if (path !== undefined) await play(path, Number(turns ?? Infinity), (step) => process.stdout.write(`${step}\n`));
