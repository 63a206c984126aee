"use strict";

// Values as JSON text. What JSON cannot hold is refused, where `JSON.stringify` would store something else, and integers
// that a number cannot hold are BigInts in both directions.

const { BadRequest } = require("./errors.cjs");

const LOSSY = [Map, Set, WeakMap, WeakSet, RegExp, ArrayBuffer, Promise];

function refuse(what) {
  throw new BadRequest(`${what} cannot be stored as JSON`, "bad_json");
}

/** Refuses a part of a value that `JSON.stringify` would change without a word. */
function checkPart(holder, key, part) {
  switch (typeof part) {
    case "number":
      if (!Number.isFinite(part)) refuse(String(part));
      break;
    case "function":
    case "symbol":
      refuse(`a ${typeof part}`);
      break;
    case "undefined":
      // A member that is undefined is left out, as everywhere in JavaScript.
      if (Array.isArray(holder)) refuse("undefined in a list");
      break;
    case "object": {
      const given = holder[key];
      if (ArrayBuffer.isView(given) || LOSSY.some((kind) => given instanceof kind)) {
        refuse(`a ${given.constructor.name}`);
      }
    }
  }
}

/** The start of texts that stand for integers, and that does not occur in `text`. */
function markFor(text) {
  let mark = "everturn-integer:";
  while (text.includes(mark)) mark += Math.random().toString(36).slice(2);
  return mark;
}

/** The JSON text of a value. */
function stringify(value) {
  const write = (mark) => {
    let hasBigInt = false;
    const text = JSON.stringify(value, function (key, part) {
      if (typeof part === "bigint") {
        hasBigInt = true;
        return mark + part;
      }
      checkPart(this, key, part);
      return part;
    });
    return { text, hasBigInt };
  };
  try {
    const first = write("");
    if (first.text === undefined) refuse(typeof value);
    if (!first.hasBigInt) return first.text;
    const mark = markFor(first.text);
    return write(mark).text.replaceAll(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
  } catch (error) {
    if (error instanceof BadRequest) throw error;
    // A value that contains itself, or is nested too deeply.
    throw new BadRequest(error.message, "bad_json");
  }
}

// Digits that a number may not hold, anywhere.
const LONG_DIGITS = /\d{16}/;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function isLarge(token) {
  return token[0] !== '"' && /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
}

/** The value of JSON text. */
function parse(text) {
  if (!LONG_DIGITS.test(text)) return JSON.parse(text);
  const mark = markFor(text);
  const marked = text.replace(TOKENS, (token) => (isLarge(token) ? `"${mark}${token}"` : token));
  if (marked === text) return JSON.parse(text);
  return JSON.parse(marked, (_, part) =>
    typeof part === "string" && part.startsWith(mark) ? BigInt(part.slice(mark.length)) : part,
  );
}

module.exports = { parse, stringify };
