"use strict";

const { EverturnError, Busy, NotFound, BadRequest, Conflict, Damaged, Reopen, IoFailed } = require("./lib/errors.cjs");
const { Root } = require("./lib/root.cjs");
const { Session, Game, Campaign, ChatLog, Thread } = require("./lib/session.cjs");

module.exports = {
  Root,
  Session,
  Game,
  Campaign,
  ChatLog,
  Thread,
  EverturnError,
  Busy,
  NotFound,
  BadRequest,
  Conflict,
  Damaged,
  Reopen,
  IoFailed,
};
