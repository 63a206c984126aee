"use strict";

const { makeSaver } = require("./lib/langgraph.cjs");

module.exports = {
  EverturnSaver: makeSaver(require("@langchain/langgraph-checkpoint"), require("@langchain/core/messages")),
};
