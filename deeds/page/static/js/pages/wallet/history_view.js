// The list of what was done.

import { countText, offerStateText, operationText, timeText } from "../../texts.js";
import { nameOf } from "../../ui/card.js";
import { byId, make } from "../../ui/dom.js";
import { listInPieces } from "../../ui/keyed_list.js";

const GROUP_MS_MAX = 60_000;
const TAGS = {
  begun: ["wait", "under way"],
  open: ["wait", "open"],
  ended: ["", "ended"],
  refused: ["bad", "refused"],
};

/**
 * Return the operations, the latest first, with those that follow one another within a minute, of
 * one kind, deed and end, as one: a hundred links that were pasted at once were claimed at once.
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

export function historyView(itemOf) {
  const drawRows = listInPieces(byId("history"), byId("history-more"), {
    keyOf: ({ key, state, count, itemId }) => `${key} ${state} ${count} ${nameOf(itemOf(itemId))}`,
    make: (group) => ({ element: rowOf(group, itemOf) }),
  });
  return (history) => drawRows(groupsOf(history));
}

function rowOf(group, itemOf) {
  const { state, begunAt, count, code = "" } = group;
  // That nobody took an offer is no fault.
  const [kind, word] = TAGS[code.startsWith("offer_") ? "ended" : state] ?? [];
  const tag = word ? make("span", { class: `tag ${kind}` }, word) : "";
  const when = count > 1 ? `${timeText(begunAt)}, ${countText(count, "time")}` : timeText(begunAt);
  const hints = state === "refused" ? [offerStateText(group), when] : [when];
  const lines = hints.map((text) => make("p", { class: "hint" }, text));
  const text = make("p", {}, operationText(group, itemOf), " ", tag);
  return make("li", { tabindex: "-1" }, text, ...lines);
}
