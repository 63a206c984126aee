"use strict";

// Runs when the package is installed. A package with a module for this platform has nothing to do; in the repository,
// the module is built with cargo.

const { spawnSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const { fileFor, platform } = require("./native.cjs");

function fail(what) {
  console.error(`everturn: ${what}`);
  process.exit(1);
}

const target = fileFor(platform());
const top = path.resolve(__dirname, "..", "..", "..");
const isRepository = fs.existsSync(path.join(top, "packages", "node", "Cargo.toml"));
if (!isRepository) {
  if (!fs.existsSync(target)) fail(`this package has no module for ${platform()}`);
  process.exit(0);
}

const profile = process.env.EVERTURN_PROFILE || "release";
const words = ["build", "--locked", "--package", "everturn-node", "--profile", profile, "--message-format", "json-render-diagnostics"];
const built = spawnSync("cargo", words, { cwd: top, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], maxBuffer: 1 << 28 });
if (built.error) fail(`cargo cannot be run: ${built.error.message}. Install Rust from https://rustup.rs.`);
if (built.status !== 0) fail("cargo could not build the module");
const artifacts = built.stdout.split("\n").filter(Boolean).map((line) => JSON.parse(line));
const made = artifacts.findLast((line) => line.reason === "compiler-artifact" && line.target.name === "everturn_node");
const library = made?.filenames.find((file) => /\.(so|dylib|dll)$/.test(file));
if (!library) fail("cargo has not said where the module is");
fs.mkdirSync(path.dirname(target), { recursive: true });
// Another process may have the old file loaded, so it is not overwritten.
fs.copyFileSync(library, `${target}.new`);
fs.renameSync(`${target}.new`, target);
