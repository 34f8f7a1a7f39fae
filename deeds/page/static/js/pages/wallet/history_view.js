// The lists of what was done, and of what is under way.

import { operationText, refusalText, timeText } from "../../texts/operations.js";
import { textFor } from "../../texts/problems.js";
import { byId, find, make } from "../../ui/dom.js";
import { drawList } from "../../ui/keyed_list.js";

const SHOWN_AT_FIRST = 20;

let shownCount = SHOWN_AT_FIRST;

/**
 * Draw the operations, the latest first.
 * @param {import("../../wallet/records.js").OperationRecord[]} history
 * @param {(itemId?: string) => string} nameOf
 */
export function drawHistory(history, nameOf) {
  const more = byId("history-more");
  const shown = history.slice(0, shownCount);
  byId("no-history").hidden = history.length > 0;
  byId("history-actions").hidden = history.length <= shownCount;
  more.onclick = () => {
    shownCount = Infinity;
    drawHistory(history, nameOf);
    find(byId("history"), `li:nth-child(${SHOWN_AT_FIRST + 1})`).focus();
  };
  drawList(byId("history"), shown, {
    keyOf: ({ key, state, itemId }) => `${key} ${state} ${nameOf(itemId)}`,
    make: (operation) => ({ element: makeRow(operation, nameOf) }),
  });
}

/**
 * Draw what has not ended, with what is known of the reason.
 * @param {import("../../wallet/records.js").OperationRecord[]} begun
 * @param {Map<string, Error>} problems by the operation's key
 * @param {(itemId?: string) => string} nameOf
 */
export function drawBegun(begun, problems, nameOf) {
  byId("begun").hidden = !begun.length;
  const rows = begun.map((operation) => {
    const problem = problems.get(operation.key);
    const text = `${operationText(operation, nameOf(operation.itemId))}.`;
    return { key: operation.key, text: problem ? `${text} ${textFor(problem)}` : text };
  });
  drawList(byId("begun-list"), rows, {
    keyOf: ({ key, text }) => `${key} ${text}`,
    make: ({ text }) => ({ element: make("li", {}, text) }),
  });
}

function makeRow(operation, nameOf) {
  const { state, begunAt } = operation;
  const tags = { begun: ["", "under way"], refused: ["bad", "refused"], done: null };
  const tag = tags[state];
  return make(
    "li",
    { tabindex: "-1" },
    make(
      "p",
      {},
      operationText(operation, nameOf(operation.itemId)),
      ...(tag ? [" ", make("span", { class: `tag ${tag[0]}` }, tag[1])] : []),
    ),
    ...(state === "refused" ? [make("p", { class: "hint" }, refusalText(operation))] : []),
    make("p", { class: "hint" }, timeText(begunAt)),
  );
}
