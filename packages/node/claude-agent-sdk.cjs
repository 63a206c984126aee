"use strict";

module.exports = require("./lib/claude_agent_sdk.cjs");
