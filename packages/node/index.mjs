import everturn from "./index.cjs";

export const {
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
} = everturn;
