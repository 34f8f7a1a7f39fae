// The page of one deed: its card, what is held of it, and all that can be done with that.

import { formatAmount, parseAmount, unitsText } from "../../format/amounts.js";
import { countText, quoted } from "../../texts/operations.js";
import { fillCard, makeCard, metadataOf } from "../../ui/card.js";
import { ask } from "../../ui/dialog.js";
import { copyTemplate, find, freshId, make, makeButton } from "../../ui/dom.js";
import { focusFirstError, showError } from "../../ui/field_errors.js";
import { listInPieces } from "../../ui/keyed_list.js";
import { openLinkDialog } from "../../ui/link_view.js";
import { linksView } from "./links_view.js";
import { askToSplit } from "./split_dialog.js";

const ORIGIN_TEXTS = {
  minted: "You made this.",
  lookalike: "Another deed of the same name is in your wallet: compare their marks, and ask the sender.",
};

/** @typedef {import("../../wallet/holdings.js").Holding & {origin: string}} Holding */

/**
 * Return the page of a deed, which can be drawn again.
 * @param {string} itemId
 * @param {import("./links_view.js").LinksTools} tools
 */
export function deedPage(itemId, tools) {
  const view = copyTemplate("deed-template");
  const part = (name) => find(view, `[data-part="${name}"]`);
  /** @type {Holding} */
  let holding;
  const card = makeDeedCard(part("card"));
  const links = linksView(part("links"), itemId, tools);
  const drawParts = partsList(part("parts"), () => holding, tools);
  addressLinks(part, itemId);
  sendForm(part("send"), () => holding, tools);
  part("split").addEventListener("click", () => askToSplit(holding, part("split"), tools));
  part("merge").addEventListener("click", () => askToMerge(holding, part("merge"), tools));

  function draw(now) {
    holding = now;
    const name = tools.nameOf(itemId);
    const { item, sum, unit } = holding;
    const about = item ? metadataOf(item) : { description: itemId };
    fillCard(card, { ...about, name }, item?.total ?? 0, { itemId, unit });
    for (const place of view.querySelectorAll("[data-name]")) {
      place.textContent = ` ${quoted(name)}`;
    }
    part("sum").textContent = sum ? unitsText(sum, unit) : "Nothing here";
    part("more").textContent = moreText(holding);
    drawOrigin(part("origin"), holding);
    tell(part("lost"), lostText(holding));
    tell(part("unknown"), unknownText(holding));
    // What was said there stays until it was read: another tab may have taken what was to be sent.
    part("send").hidden = !sum && find(view, "[data-error]").hidden;
    part("split").hidden = sum < 2;
    part("merge").hidden = looseOf(holding).length < 2;
    part("door").hidden = !holding.isMinted;
    drawOverview(part("overview"), holding);
    links.draw(holding);
    drawParts();
  }
  return { element: view, draw, stop: links.stop };
}

/** Return the card of a deed; its name is the heading of the page. */
function makeDeedCard(place) {
  const card = makeCard({}, 0);
  const name = find(card, "[data-card=name]");
  const heading = { class: name.className, dir: "auto", "data-card": "name", tabindex: "-1" };
  name.replaceWith(make("h1", { ...heading, "data-focus": true }));
  // How many there are in all is said beside what is here.
  find(card, ".deed-units").hidden = true;
  place.append(card);
  return card;
}

function addressLinks(part, itemId) {
  part("item").setAttribute("href", `/item/${encodeURIComponent(itemId)}`);
  part("door").setAttribute("href", `/door#${encodeURIComponent(itemId)}`);
}

function tell(place, text) {
  place.textContent = text;
  place.hidden = !text;
}

/** Red is only what a person has to ask about. */
function drawOrigin(place, { origin }) {
  const isBad = origin === "lookalike";
  place.className = isBad ? "notice bad" : "faint";
  tell(place, ORIGIN_TEXTS[origin] ?? "");
}

/** @param {Holding} holding */
function moreText({ item, coming, unit, waiting }) {
  const texts = item ? [`of ${formatAmount(item.total)}`] : [];
  if (waiting) texts.push(`${formatAmount(waiting)} waiting`);
  if (coming) texts.push(`${unitsText(coming, unit)} on the way`);
  return texts.join(" · ");
}

/**
 * Return that something is lost, in the number that it is.
 * @param {Pick<Holding, "lost" | "unit">} holding
 */
export function lostText({ lost, unit }) {
  if (!lost) return "";
  const [verb, links] =
    lost === 1 ? ["is", "its link was used"] : ["are", "their links were used"];
  return `${unitsText(lost, unit)} ${verb} no longer yours: ${links}.`;
}

/** @param {Holding} holding */
function unknownText({ unknownSum, unit }) {
  return unknownSum ? `Not known to the service: ${unitsText(unknownSum, unit)}.` : "";
}

/** What the maker of a deed wants to know: where all of it is. */
function drawOverview(list, { isMinted, item, given, claimed, collected, sum }) {
  list.hidden = !isMinted || !item;
  if (list.hidden) return;
  const counts = { Made: item.total, Given: given, Claimed: claimed, "Still here": sum };
  if (collected) counts["Collected at the door"] = collected;
  const rows = Object.entries(counts).map(([term, count]) =>
    make("div", {}, make("dt", {}, term), make("dd", {}, formatAmount(count))),
  );
  list.replaceChildren(...rows);
}

/** Make the form work that sends units as a link. */
function sendForm(form, holdingNow, tools) {
  const field = find(form, "input", HTMLInputElement);
  const button = find(form, "button", HTMLButtonElement);
  const place = find(form, "[data-error]");
  field.id = freshId("send");
  place.id = `${field.id}-error`;
  field.setAttribute("aria-describedby", place.id);
  find(form, "label", HTMLLabelElement).htmlFor = field.id;
  const wait = find(form, "[data-wait]");
  const say = (text) => showError(field, text);
  field.addEventListener("input", () => say(""));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    button.disabled = true;
    say("");
    const onWait = (text) => (wait.textContent = text);
    const { given, problem } = await send(holdingNow(), field.value, onWait, tools);
    onWait("");
    button.disabled = false;
    say(problem);
    if (!given) return focusFirstError(form);
    field.value = "1";
    openLink(given, "Your link", holdingNow(), button, tools);
  });
}

/** Return the output that was made to be given away, or what stands in the way. */
async function send({ itemId }, text, onWait, { wallet, run }) {
  let amount;
  try {
    amount = parseAmount(text);
  } catch (error) {
    return { given: null, problem: error.message };
  }
  const { operation, problem } = await run(() => wallet.send(itemId, amount), onWait);
  if (!operation || problem) return { given: null, problem };
  const [given] = await wallet.outputsOf(operation);
  return { given, problem: "" };
}

function openLink(output, title, { item, unit }, opener, { wallet, api }) {
  openLinkDialog(output, { title, item, unit, opener, wallet, api });
}

/** Return what draws the parts that are held. */
function partsList(details, holdingNow, tools) {
  const drawRows = listInPieces(find(details, "ul"), find(details, "[data-part=more-parts]"), {
    keyOf: ({ key }) => key,
    make: (output) => ({ element: partRow(output, holdingNow, tools) }),
  });
  return () => {
    const parts = looseOf(holdingNow());
    details.hidden = parts.length < 2;
    find(details, "[data-count]").textContent = countText(parts.length, "part");
    drawRows(parts);
  };
}

function partRow(output, holdingNow, tools) {
  const units = unitsText(output.amount, holdingNow().unit);
  const open = () => openLink(output, `A link to ${units}`, holdingNow(), button, tools);
  const button = makeButton("Show link", open);
  const about = ` to ${units} of ${quoted(tools.nameOf(output.itemId))}`;
  button.append(make("span", { class: "unseen" }, about));
  return make("li", { class: "part" }, make("p", { class: "part-units" }, units), button);
}

/** The parts that are not links of a series, which keep their numbers. */
function looseOf({ parts }) {
  return parts.filter(({ number }) => !number);
}

function askToMerge(holding, opener, { wallet, run, nameOf }) {
  const { itemId } = holding;
  const parts = countText(looseOf(holding).length, "part");
  ask({
    title: "Merge the parts into one?",
    content: [make("p", {}, `${parts} of ${quoted(nameOf(itemId))} become one.`)],
    yes: "Merge",
    opener,
    said: "They are one part now.",
    act: async (onWait) => (await run(() => wallet.merge(itemId), onWait)).problem,
  });
}
