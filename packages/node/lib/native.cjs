"use strict";

// Loads the native module: that of EVERTURN_NODE_MODULE, or the one that was built or packed for this platform.

const path = require("node:path");

function platform() {
  const musl = process.platform === "linux" && !process.report?.getReport().header.glibcVersionRuntime;
  return `${process.platform}-${process.arch}${musl ? "-musl" : ""}`;
}

function fileFor(name) {
  return path.join(__dirname, "..", "prebuilt", `${name}.node`);
}

function load() {
  const file = process.env.EVERTURN_NODE_MODULE || fileFor(platform());
  try {
    return require(file);
  } catch (error) {
    throw new Error(
      `the native module of everturn cannot be loaded from ${file}: ${error.message}. ` +
        "Install a package for this platform, or build it with `npm install ./packages/node` in the repository.",
      { cause: error },
    );
  }
}

module.exports = { load, platform, fileFor };
