// What is held of one item: its card, the sum, the form that sends, the links and the parts.

import { parseAmount, unitsText } from "../../format/amounts.js";
import { quoted } from "../../texts/operations.js";
import { fillCard, makeCard, metadataOf } from "../../ui/card.js";
import { ask } from "../../ui/dialog.js";
import { copyTemplate, find, freshId, make } from "../../ui/dom.js";
import { focusFirstError, showError } from "../../ui/field_errors.js";
import { drawList } from "../../ui/keyed_list.js";
import { showLink } from "./link_dialog.js";
import { deadRow, givenRow, heldRow, takenRow } from "./part_rows.js";

/**
 * Return a list element that can be drawn again.
 * @param {import("../../wallet/holdings.js").Shown} first
 * @param {import("./part_rows.js").Tools} tools
 */
export function holdingView(first, tools) {
  const { itemId } = first;
  const view = copyTemplate("holding-template");
  const card = makeCard({}, 0);
  const name = find(card, "[data-card=name]");
  name.setAttribute("data-focus", "");
  name.tabIndex = -1;
  find(view, "[data-part=card]").append(card);
  find(view, "[data-part=links]", HTMLDetailsElement).open = first.given.length > 0;
  find(view, "[data-part=item-link]", HTMLAnchorElement).href =
    `/item/${encodeURIComponent(itemId)}`;
  linkIds(view);
  view.addEventListener("submit", (event) => {
    event.preventDefault();
    send(view, itemId, tools);
  });
  const field = find(view, "input", HTMLInputElement);
  field.addEventListener("input", () => showError(field, find(view, "[data-error]"), ""));
  find(view, "[data-part=merge]").addEventListener("click", () => askToMerge(view, itemId, tools));
  return { element: view, update: (holding) => draw(view, card, holding, tools) };
}

function draw(view, card, holding, tools) {
  const { item, sum, given, taken, outputs, unknown, lost, isOver } = holding;
  const part = (name) => view.querySelector(`[data-part="${name}"]`);
  const name = tools.nameOf(holding.itemId);
  const about = item ? metadataOf(item) : { description: holding.itemId };
  fillCard(card, { ...about, name }, item?.total ?? 0);
  card.querySelector(".deed-units").hidden = !item;
  for (const place of view.querySelectorAll("[data-name]")) {
    place.textContent = ` of ${quoted(name)}`;
  }
  part("sum").textContent = isOver ? "Nothing" : unitsText(sum);
  part("more").textContent = moreText(holding);
  // What was said there stays until it was read: another tab may have taken what was to be sent.
  part("send").hidden = !sum && view.querySelector("[data-error]").hidden;
  part("merge").parentElement.hidden = outputs.length < 2;
  part("lost-note").hidden = !lost.length;
  drawGroup(part("links"), "Links given away", [
    [given, "waiting", (output) => givenRow(output, tools)],
    [taken, "taken", takenRow],
  ]);
  drawGroup(part("parts"), "Parts", [
    [outputs, "", (output) => heldRow(output, tools)],
    [unknown, "not known", (output) => deadRow(output, tools)],
    [lost, "spent elsewhere", (output) => deadRow(output, tools)],
  ]);
}

/** Draw rows of several kinds into one list that can be folded, and count them at its head. */
function drawGroup(details, title, kinds) {
  const rows = kinds.flatMap(([outputs, word, make]) =>
    outputs.map((output) => ({ key: `${word} ${output.key}`, output, make })),
  );
  const counts = kinds
    .filter(([outputs]) => outputs.length)
    .map(([outputs, word]) => `${outputs.length} ${word}`.trim());
  details.hidden = !rows.length;
  details.querySelector("[data-count]").textContent = `${title}: ${counts.join(", ")}`;
  drawList(details.querySelector("ul"), rows, {
    keyOf: ({ key }) => key,
    make: ({ make, output }) => ({ element: make(output) }),
  });
}

function moreText({ given, coming }) {
  const inLinks = given.reduce((total, output) => total + output.amount, 0);
  const texts = ["here"];
  if (inLinks) texts.push(`${unitsText(inLinks)} in links`);
  if (coming) texts.push(`${unitsText(coming)} on their way`);
  return texts.join(" · ");
}

async function send(view, itemId, { wallet, api, run, nameOf }) {
  const form = view.querySelector("form");
  const [field, button] = [form.querySelector("input"), form.querySelector("button")];
  if (button.disabled) return;
  const tell = (text) => showError(field, view.querySelector("[data-error]"), text);
  let amount;
  try {
    amount = parseAmount(field.value);
    tell("");
  } catch (error) {
    tell(error.message);
    focusFirstError(form);
    return;
  }
  button.disabled = true;
  const { operation, problem } = await run(() => wallet.send(itemId, amount), tell);
  button.disabled = false;
  tell(problem);
  if (problem) {
    focusFirstError(form);
    return;
  }
  field.value = "";
  view.querySelector("[data-part=links]").open = true;
  const [given] = await wallet.outputsOf(operation);
  const title = `${unitsText(amount)} to hand over`;
  showLink(given, { title, name: quoted(nameOf(itemId)), isNew: true, opener: field, qr: api.qr });
}

function askToMerge(view, itemId, { wallet, run, nameOf }) {
  ask({
    title: "Merge the parts into one?",
    content: [
      make(
        "p",
        {},
        `All parts of ${quoted(nameOf(itemId))} that are here become one. `,
        "Links and raw outputs of the single parts stop working.",
      ),
    ],
    yes: "Merge",
    opener: view.querySelector("[data-part=merge]"),
    said: "They are one part now.",
    act: async (onWait) => (await run(() => wallet.merge(itemId), onWait)).problem,
  });
}

/** Give the copy of the template ids of its own. */
function linkIds(view) {
  const [id, errorId] = [freshId("send"), freshId("send-error")];
  const field = view.querySelector("input");
  field.id = id;
  field.setAttribute("aria-describedby", errorId);
  view.querySelector("label").htmlFor = id;
  view.querySelector("[data-error]").id = errorId;
}
