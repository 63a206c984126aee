"use strict";

/**
 * Why something could not be done. After an error nothing has changed, unless it is `Reopen`.
 */
class EverturnError extends Error {
  constructor(message, code, path, hint, options) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.path = path ?? undefined;
    this.hint = hint ?? undefined;
  }
}

class Busy extends EverturnError {}
class NotFound extends EverturnError {}
class BadRequest extends EverturnError {}
class Conflict extends EverturnError {}
class Damaged extends EverturnError {}
class Reopen extends EverturnError {}
class IoFailed extends EverturnError {}

const KINDS = {
  busy: Busy,
  not_found: NotFound,
  conflict: Conflict,
  taken: Conflict,
  damaged: Damaged,
  reopen: Reopen,
  io: IoFailed,
};

/** The error of a class of ours for one of the native module, whose message is JSON. */
function fromNative(error) {
  let parts;
  try {
    parts = JSON.parse(error.message);
  } catch {
    return error;
  }
  if (typeof parts?.everturn !== "string") return error;
  const kind = Object.hasOwn(KINDS, parts.code) ? KINDS[parts.code] : BadRequest;
  return new kind(parts.everturn, parts.code, parts.path, parts.hint);
}

/** Waits for a call of the native module, and throws errors of our classes. */
async function settle(call) {
  try {
    return await call;
  } catch (error) {
    throw fromNative(error);
  }
}

module.exports = { EverturnError, Busy, NotFound, BadRequest, Conflict, Damaged, Reopen, IoFailed, settle };
