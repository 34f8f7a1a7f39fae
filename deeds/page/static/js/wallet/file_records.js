// Are the records of a file what a wallet can work with? Somebody who knows its passphrase may have
// written anything into it, and what is taken in is sent and shown. Pure.

import { isAmount } from "../format/amounts.js";
import { checkSecret, formatRawOutput, parseRawOutput } from "../format/raw_output.js";
import { linkParts, unitOf } from "./links.js";
import { keyOf } from "./records.js";

const OUTPUT_STATES = ["offered", "held", "given", "coming", "leaving", "spent", "void"];
const TARGET_STATES = ["held", "given"];
const OPERATION_STATES = ["begun", "done", "refused"];
const KINDS = ["mint", "claim", "send", "split", "merge", "takeBack"];
// Code points of a note, each of which may take two.
const NOTE_LENGTH_MAX = 160;
// More series than anybody makes; what is counted on from here stays exact.
const NUMBER_MAX = 1_000_000_000;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Return the records if each is whole and they belong together.
 * @param {any} records
 * @throws {Error} otherwise
 */
export function readRecords({ outputs, operations, items }) {
  const known = new Map(outputs.map((output) => [output.key, output]));
  const begun = new Set(operations.map((operation) => operation.key));
  for (const output of outputs) check(isOutput(output, begun));
  for (const operation of operations) check(isOperation(operation, known));
  for (const item of items) check(isItem(item, operations));
  return { outputs, operations, items };
}

function isOutput(output, begun) {
  const { key, itemId, amount, secret, state, before, operation } = output;
  checkSecret(secret);
  // What is written and read back is the same: the item id has no dot, the amount is one.
  const isRaw = parseRawOutput(formatRawOutput(output)).itemId === itemId;
  const isUnderWay = state === "leaving" || state === "coming";
  return (
    isRaw &&
    isAmount(amount) &&
    key === keyOf(output) &&
    OUTPUT_STATES.includes(state) &&
    (state !== "leaving" || ["offered", "void", ...TARGET_STATES].includes(before)) &&
    (!isUnderWay || begun.has(operation)) &&
    areTimes(output.createdAt, output.changedAt) &&
    isLink(output)
  );
}

/** What is there besides, which older pages did not write. */
function isLink(output) {
  const { givenAt = 0, collectedAt = 0, note = "", number, of, each } = output;
  const isNumbered = number === undefined ? of === undefined : isNumber(number) && isNumber(of);
  return (
    areTimes(givenAt, collectedAt) &&
    typeof note === "string" &&
    note.length <= NOTE_LENGTH_MAX &&
    isNumbered &&
    (each === undefined || isPromise(output))
  );
}

/** A part that is still to be split is as many links as its numbers say, and not handed out. */
function isPromise({ amount, each, number, of, state, before }) {
  return isAmount(each) && amount === each * (of - number + 1) && ![state, before].includes("given");
}

function isNumber(value) {
  return isAmount(value) && value <= NUMBER_MAX;
}

/** What was asked of a mint must be the links that it promised. */
function isSeries(links, { kind, body }) {
  if (links === undefined) return true;
  const { count, each, from, isNext = false } = links;
  const isWhole = [count, from].every(isNumber) && isAmount(each) && typeof isNext === "boolean";
  if (!isWhole || kind !== "mint") return isWhole;
  const parts = linkParts(links, body.outputs.length);
  return parts.every(({ amount }, place) => body.outputs[place]?.amount === amount);
}

function isOperation(operation, known) {
  const { key, kind, path, body, inputs, outputs, state, amount, begunAt } = operation;
  const { atDoor, unit, links } = operation;
  const isWhole =
    UUID.test(key) &&
    KINDS.includes(kind) &&
    OPERATION_STATES.includes(state) &&
    isAmount(amount) &&
    areTimes(begunAt) &&
    [undefined, true].includes(atDoor) &&
    isUnit(unit) &&
    isSeries(links, operation) &&
    inputs.every((input) => known.has(input)) &&
    outputs.every((output) => known.has(output.key) && TARGET_STATES.includes(output.state));
  if (!isWhole) return false;
  if (kind === "mint") return path === "/v1/mint" && body.outputs.every(isNew);
  // What is sent must be what is settled. The amount of a link may have been put right since.
  const keys = (raws) => JSON.stringify(raws.map((raw) => keyOf(parseRawOutput(raw))));
  return (
    path === "/v1/swap" &&
    keys(body.inputs) === JSON.stringify(inputs) &&
    keys(body.outputs) === JSON.stringify(outputs.map((output) => output.key))
  );
}

function isNew({ amount, secret }) {
  return isAmount(amount) && checkSecret(secret) === secret;
}

function isUnit(unit) {
  return unit === undefined || unitOf(unit) === unit;
}

function isItem({ key, id, total, metadata, unit, isMinted }, operations) {
  const isText = metadata === null || metadata === undefined || typeof metadata === "string";
  const isMint = ({ kind, itemId }) => kind === "mint" && itemId === id;
  const isOurs = isMinted === undefined || (isMinted === true && operations.some(isMint));
  return key === id && /^deed_[^.]+$/.test(id) && isAmount(total) && isText && isOurs && isUnit(unit);
}

function areTimes(...times) {
  return times.every((time) => Number.isFinite(time));
}

function check(isRight) {
  if (!isRight) throw new Error("not a record of a wallet");
}
