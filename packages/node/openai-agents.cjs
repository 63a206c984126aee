"use strict";

module.exports = require("./lib/openai_agents.cjs");
