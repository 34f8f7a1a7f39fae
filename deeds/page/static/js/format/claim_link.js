// Claim links, `/claim#<raw output>`, and texts that hold several of them or of raw outputs. The
// secret is in the fragment alone, which no browser sends to a server.

import { formatRawOutput, parseRawOutput, RawOutputError } from "./raw_output.js";

const ITEM_ID = "deed_[0-9a-hjkmnp-tv-z]{26}";
// What starts here is longer than a secret can be, so it is never a part of one.
const START = new RegExp(
  `(?:^|\\s)(?=\\+[1-9][0-9]*\\.${ITEM_ID}\\.|https?://\\S+#(?:\\+|%2[Bb])[1-9][0-9]*\\.${ITEM_ID}\\.)`,
  "g",
);
const MADE = /\.[0-9a-hjkmnp-tv-z]{32}$/;

/**
 * Return the link that hands over an output.
 *
 * All but letters and digits of the secret are escaped: apps that make links of text leave out a
 * dot or a bracket at the end, and treat asterisks and underscores as typography.
 * @param {string} origin scheme, host and port of the page
 * @param {import("./raw_output.js").RawOutput} output
 * @returns {string}
 */
export function claimLink(origin, output) {
  return `${origin}/claim#${formatRawOutput({ ...output, secret: escape(output.secret) })}`;
}

/**
 * Return the output of a claim link's fragment, with or without its `#`.
 * @param {string} fragment
 * @returns {import("./raw_output.js").RawOutput}
 * @throws {RawOutputError}
 */
export function outputOfFragment(fragment) {
  const [, text] = /^#?(.*)$/su.exec(fragment) ?? ["", ""];
  const found = /^([^.]*\.[^.]*\.)(.*)$/s.exec(text.replace(/^%2B/i, "+"));
  if (!found) throw new RawOutputError("This link holds no deed.");
  return parseRawOutput(found[1] + unescape(found[2]));
}

/**
 * Return the outputs of a pasted text: raw outputs and claim links, with line ends, blanks or other
 * words between them.
 *
 * A line end always ends a raw output: a secret that holds one travels by link only.
 * @param {string} text
 * @returns {import("./raw_output.js").RawOutput[]}
 * @throws {RawOutputError} of the first that cannot be read, or if there are no raw outputs.
 */
export function readRawOutputs(text) {
  const found = Array.from(text.matchAll(START));
  const pieces = found.map((match, place) => {
    // A blank before the next one parts them and belongs to neither.
    const piece = text.slice(match.index, found[place + 1]?.index);
    return firstLine(piece.slice(match[0].length));
  });
  const lines = text.split(/[\r\n]+/).map((line) => line.trimStart());
  const wanted = pieces.length ? pieces : lines.filter((line) => line.trim());
  if (!wanted.length) throw new RawOutputError("There is no deed in this text.");
  return wanted.map(readOne);
}

/**
 * Return the output of one line. Blanks behind it are dropped only if it has no meaning with them,
 * and so are words behind a secret of a machine's form.
 */
function readOne(line) {
  const firstWord = line.split(/\s/, 1)[0];
  if (/^https?:/i.test(line)) return outputOfFragment(firstWord.slice(firstWord.indexOf("#")));
  try {
    return parseRawOutput(line);
  } catch (error) {
    if (MADE.test(firstWord)) return parseRawOutput(firstWord);
    if (line.trimEnd() === line) throw error;
    return parseRawOutput(line.trimEnd());
  }
}

function firstLine(text) {
  return text.split(/[\r\n]/, 1)[0];
}

function escape(secret) {
  return encodeURIComponent(secret).replace(
    /[^A-Za-z0-9%]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Undo `escape`; what was not escaped, such as a lone percent sign, stays as it is. */
function unescape(secret) {
  return secret.replace(/(?:%[0-9A-Fa-f]{2})+/g, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes;
    }
  });
}
