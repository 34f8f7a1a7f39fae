// Are the records of a file what a wallet can work with? Somebody who knows its passphrase may have
// written anything into it, and what is taken in is sent and shown. Pure.

import { isAmount } from "../format/amounts.js";
import { checkSecret, formatRawOutput, parseRawOutput } from "../format/raw_output.js";
import { keyOf } from "./records.js";

const OUTPUT_STATES = ["offered", "held", "given", "coming", "leaving", "spent", "void"];
const TARGET_STATES = ["held", "given"];
const OPERATION_STATES = ["begun", "done", "refused"];
const KINDS = ["mint", "claim", "send", "split", "merge", "takeBack"];
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
  for (const item of items) check(isItem(item));
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
    areTimes(output.createdAt, output.changedAt)
  );
}

function isOperation(operation, known) {
  const { key, kind, path, body, inputs, outputs, state, amount, begunAt } = operation;
  const isWhole =
    UUID.test(key) &&
    KINDS.includes(kind) &&
    OPERATION_STATES.includes(state) &&
    isAmount(amount) &&
    areTimes(begunAt) &&
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

function isItem({ key, id, total, metadata }) {
  const isText = metadata === null || metadata === undefined || typeof metadata === "string";
  return key === id && /^deed_[^.]+$/.test(id) && isAmount(total) && isText;
}

function areTimes(...times) {
  return times.every((time) => Number.isFinite(time));
}

function check(isRight) {
  if (!isRight) throw new Error("not a record of a wallet");
}
