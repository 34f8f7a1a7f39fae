// What a wallet's file keeps of items: it is read offline, so what they are called, when
// and where. Pictures of up to a megabyte each stay in the registry. docs/wallet-file.md
// has the rule, tests/vectors/metadata.json cases of it.

import { DESCRIPTION_LENGTH_MAX, FACT, linesOf } from "../format/about.js";

const KEPT_BYTES_MAX = 2_048;
const KEPT_NAME_LENGTH_MAX = 200;
/** A paragraph that stands for what was cut: no fact, so what is before it is none. */
const CUT = "…";

/**
 * Leave out what a file does not keep.
 * @param {import("./records.js").Records} records
 */
export function cutRecords({ items, operations, ...records }) {
  return {
    ...records,
    operations: operations.map(cutMint),
    items: items.map(cutItem),
  };
}

function cutItem(item) {
  const metadata = cutMetadata(item.metadata ?? null);
  return metadata === (item.metadata ?? null)
    ? item
    : { ...item, metadata, isCut: true };
}

/** A mint that is done is not sent again: its item has the metadata. */
function cutMint(operation) {
  const { state, body } = operation;
  if (state !== "done" || !body.metadata) return operation;
  const metadata = JSON.parse(cutMetadata(JSON.stringify(body.metadata)) ?? "{}");
  return { ...operation, body: { ...body, metadata } };
}

/**
 * Return what a wallet file keeps of an item's metadata (docs/wallet-file.md): all of it
 * where it is short, else its name and as much of its description as there is room for,
 * with the facts.
 * @param {string | null} metadata
 */
export function cutMetadata(metadata) {
  if (metadata === null || bytesOf(metadata) <= KEPT_BYTES_MAX) return metadata;
  const { name, description } = textsOf(metadata);
  const start = name && [...name].slice(0, KEPT_NAME_LENGTH_MAX).join("");
  const write = (about) => JSON.stringify({ name: start, description: about });
  if (!description || bytesOf(write(description)) <= KEPT_BYTES_MAX)
    return write(description);
  const [text, facts] = splitFacts(description);
  const describe = (beginning, last) =>
    write([beginning, CUT, last].filter(Boolean).join("\n\n"));
  // At least one letter is kept beside the facts.
  const kept = bytesOf(describe("x", facts)) <= KEPT_BYTES_MAX ? facts : "";
  let room = KEPT_BYTES_MAX - bytesOf(describe("x", kept)) + 1;
  let beginning = "";
  for (const character of text) {
    room -= bytesOf(JSON.stringify(character)) - 2;
    if (room < 0) break;
    beginning += character;
  }
  return describe(beginning, kept);
}

const bytesOf = (text) => new TextEncoder().encode(text).length;

function textsOf(metadata) {
  try {
    const { name, description } = { ...JSON.parse(metadata) };
    const [one, other] = [name, description].map((value) =>
      typeof value === "string" ? value : undefined,
    );
    return { name: one, description: other };
  } catch {
    return {};
  }
}

/** Return a description's text, and the last paragraph where it may be facts. */
function splitFacts(description) {
  const lines = linesOf(description);
  const start = lines.lastIndexOf("") + 1;
  const last = lines.slice(start);
  const areFacts =
    description.length <= DESCRIPTION_LENGTH_MAX &&
    last.every((line) => FACT.test(line));
  const textLines = areFacts ? lines.slice(0, start) : lines;
  return [textLines.join("\n").trim(), areFacts ? last.join("\n") : ""];
}
