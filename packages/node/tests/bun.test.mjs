// The package in Bun.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { Game, Root } from "everturn";

import { collect, directory, ended } from "./support.mjs";

const BUN = process.env.EVERTURN_BUN;
const LOOP = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "built", "game_loop.js");

test("a game that Bun has played is continued by Node and back", { skip: !BUN }, async () => {
  const place = directory();
  const play = (program) => ended(spawn(program, [LOOP, place, "3"], { stdio: ["ignore", "pipe", "inherit"] }));
  assert.equal(await play(BUN), "1\n2\n3\n");
  assert.equal(await play(process.execPath), "4\n5\n6\n");
  assert.equal(await play(BUN), "7\n8\n9\n");
  const root = await Root.open(place);
  assert.equal((await collect(await Game.open(root, "demo"))).length, 9);
  await root.close();
});
