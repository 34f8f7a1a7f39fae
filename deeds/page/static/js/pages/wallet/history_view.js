// The lists of what was done, and of what is under way.

import { countText, operationText, refusalText, timeText, waitText } from "../../texts/operations.js";
import { byId, make } from "../../ui/dom.js";
import { listInPieces } from "../../ui/keyed_list.js";

/**
 * @typedef {import("../../wallet/records.js").OperationRecord} OperationRecord
 * @typedef {OperationRecord & {count: number}} Group equal operations that are told as one
 * @typedef {{nameOf: (itemId?: string) => string, unitOf: (itemId?: string) => string | undefined}} Namer
 */

const GROUP_MS_MAX = 60_000;

/**
 * Return the operations, the latest first, with those that follow one another within a minute, of
 * one kind, deed and end, as one: a hundred links that were pasted at once were claimed at once.
 * @returns {Group[]}
 */
export function groupsOf(history) {
  const groups = [];
  for (const operation of history) {
    const last = groups.at(-1);
    if (last && isAlike(last, operation)) {
      last.count += 1;
      last.amount += operation.amount;
      last.oldestAt = operation.begunAt;
    } else groups.push({ ...operation, count: 1, oldestAt: operation.begunAt });
  }
  return groups;
}

function isAlike(group, operation) {
  const names = ["kind", "state", "itemId", "code", "atDoor"];
  const isEqual = names.every((name) => group[name] === operation[name]);
  return isEqual && group.oldestAt - operation.begunAt <= GROUP_MS_MAX;
}

/** Return what draws the history, of which the latest comes first. */
export function historyView(namer) {
  const drawRows = listInPieces(byId("history"), byId("history-more"), {
    keyOf: ({ key, state, count, itemId }) => `${key} ${state} ${count} ${namer.nameOf(itemId)}`,
    make: (group) => ({ element: rowOf(group, namer) }),
  });
  return (history) => {
    byId("no-history").hidden = history.length > 0;
    drawRows(groupsOf(history));
  };
}

/** Draw what has not ended, with the problem of each that has one, by its key. */
export function drawBegun(begun, problems, namer) {
  byId("begun").hidden = !begun.length;
  const rows = begun.map((operation) => {
    const problem = problems.get(operation.key);
    const why = problem ? waitText(problem, "") : "";
    return make("li", {}, `${textOf(operation, namer)}. ${why}`);
  });
  byId("begun-list").replaceChildren(...rows);
}

/** Return what an operation does, to a deed that has a name here. */
export function textOf(operation, { nameOf, unitOf }) {
  const { itemId, unit } = operation;
  return operationText(operation, nameOf(itemId), unitOf(itemId) ?? unit);
}

function rowOf(group, namer) {
  const { state, begunAt, count } = group;
  const [kind, word] = state === "begun" ? ["wait", "under way"] : ["bad", "refused"];
  const tag = state === "done" ? "" : make("span", { class: `tag ${kind}` }, word);
  const when = count > 1 ? `${timeText(begunAt)}, ${countText(count, "time")}` : timeText(begunAt);
  const hints = state === "refused" ? [refusalText(group), when] : [when];
  const lines = hints.map((text) => make("p", { class: "hint" }, text));
  return make("li", { tabindex: "-1" }, make("p", {}, textOf(group, namer), " ", tag), ...lines);
}
