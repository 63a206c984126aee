// The examples of docs/node.md run.

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import test from "node:test";

import { directory, ended } from "./support.mjs";
import { spawn } from "node:child_process";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const page = fs.readFileSync(path.join(HERE, "node.md"), "utf8");

for (const [number, [, code]] of [...page.matchAll(/^```js\n(.*?)^```$/gms)].entries()) {
  test(`example ${number + 1}`, async () => {
    // Beside the packages that it imports.
    const file = path.join(HERE, `example${number + 1}.mjs`);
    fs.writeFileSync(file, code);
    await ended(spawn(process.execPath, [file], { cwd: directory(), stdio: ["ignore", "pipe", "inherit"] }));
  });
}
