// Addresses of views.

/** @param {string} key @param {number} [turn] */
export const sessionLink = (key, turn) => `#/session/${encodeURIComponent(key)}${turn === undefined ? '' : `/turn/${turn}`}`;

/** A session, or a branch of one. @param {string} key @param {string | null} [branch] */
export const compared = (key, branch) => encodeURIComponent(branch ? `${key}\n${branch}` : key);
