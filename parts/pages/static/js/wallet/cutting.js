// What a wallet's file keeps of items. It is read offline, so it keeps names, times and
// places; pictures of up to a megabyte each stay in the registry. The rule is in
// docs/wallet-file.md, cases are in tests/vectors/metadata.json.

import { FACT, textsOf } from "../format/about.js";

const KEPT_BYTES_MAX = 2_048;
const KEPT_NAME_LENGTH_MAX = 200;

/**
 * Remove what a file does not keep.
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
  const { metadata = null } = item;
  const short = cutMetadata(metadata);
  return short === metadata ? item : { ...item, metadata: short, isCut: true };
}

/** A mint that is done is not sent again, and its item has the metadata. */
function cutMint(operation) {
  const { state, body } = operation;
  if (state !== "done" || !body.metadata) return operation;
  const metadata = JSON.parse(cutMetadata(JSON.stringify(body.metadata)) ?? "{}");
  return { ...operation, body: { ...body, metadata } };
}

/**
 * Return the metadata of an item that a wallet file keeps: all if it is short, else the
 * name and the description, or only the facts of the description.
 * @param {string | null} metadata
 */
export function cutMetadata(metadata) {
  if (metadata === null || bytesOf(metadata) <= KEPT_BYTES_MAX) return metadata;
  const { name, description } = textsOf(metadata);
  const start = name && [...name].slice(0, KEPT_NAME_LENGTH_MAX).join("");
  const write = (about) => JSON.stringify({ name: start, description: about });
  const texts = [description, factsOf(description ?? ""), undefined].map(write);
  return texts.find((text) => bytesOf(text) <= KEPT_BYTES_MAX) ?? "{}";
}

const bytesOf = (text) => new TextEncoder().encode(text).length;

/** Return the last paragraph of a description if each of its lines may be a fact. */
function factsOf(description) {
  const last = description.split("\n\n").at(-1) ?? "";
  return last.split("\n").every((line) => FACT.test(line)) ? last : undefined;
}
