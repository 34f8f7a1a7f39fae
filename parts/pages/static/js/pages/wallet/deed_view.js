// The page of one deed: its card, the units held, and all actions on them.

import { aboutOf, nameOf } from "../../format/about.js";
import { unitsText } from "../../format/amounts.js";
import { formatAmount, gettext, joinTexts, ngettext } from "../../format/gettext.js";
import { quoted } from "../../texts.js";
import { saveDate } from "../../ui/calendar.js";
import { fillCard } from "../../ui/card.js";
import { copyTemplate, find, make, partsIn, put, setEach } from "../../ui/dom.js";
import { ask, sayError } from "../../ui/forms.js";
import { setUpMenus } from "../../ui/menu.js";
import {
  byNumber,
  isNameless,
  outputsIn,
  overviewOf,
  rowOf,
  withSaid,
} from "../../wallet/holdings.js";
import { unitsOf } from "../../wallet/records.js";
import { isUsable, takeBack } from "../link_export.js";
import { askForNames, askToSend, askToSplit } from "./deed_forms.js";
import { isOfDoor, linksView } from "./links_view.js";
import { doorTexts, hereOf, isForPaying, waitTexts } from "./lists.js";
import { openCodes } from "./show_code.js";
import { askToTrade } from "./trade_form.js";

/** Figures that the overview shows even if they are 0. */
const ALWAYS_SHOWN = ["claimed", "given", "here"];
/** The parts of the bar, and the states that they represent. */
const BAR = {
  admitted: "admitted",
  claimed: "claimed",
  given: "waiting",
  counted: "waiting",
  here: "here",
  back: "back",
};

/**
 * @typedef {import("../../wallet/holdings.js").Holding} Holding
 * @typedef {import("../../ui/origin.js").Origin} Origin
 */

/** Return the page of a deed, with a function that draws it again. */
export function deedPage(
  itemId,
  /** @type {import("../offer_view.js").OfferTools} */ tools,
) {
  const view = copyTemplate("deed-template");
  const part = partsIn(view);
  const description = find(view, "[data-card=description]");
  /** The tools and the holding last drawn, for later actions. @type {any} */
  const shown = { ...tools };
  const drawLinks = linksView(view, shown);
  const drawGone = goneNotice(part("gone"), shown);
  setEach(
    "href",
    {
      item: `/item/${itemId}`,
      door: `/door#${itemId}`,
      "more-door": `/door#${itemId}`,
      lists: `/door#${itemId}?list`,
      similar: `/mint#${itemId}`,
      till: `/till#${itemId}`,
      "more-till": `/till#${itemId}`,
    },
    part,
  );
  setUpMenus(view);
  const acts = {
    show: openCodes,
    "more-show": openCodes,
    send: askToSend,
    split: askToSplit,
    merge: askToMerge,
    trade: askToTrade,
    names: askForNames,
    calendar: ({ item }) => saveDate(item),
    "take-them-back": askToTakeThemBack,
    compared: ({ origin }) => recordSeen(shown, { isCompared: origin.kind === "two" }),
  };
  const start = async (act, button) => act(shown, button);
  for (const [name, act] of Object.entries(acts))
    part(name).onclick = () => start(act, part(name)).catch(sayError);

  function draw(
    /** @type {Holding & {origin?: Origin, goneSeen: number, isHere: boolean}} */ found,
  ) {
    const holding = { ...found, links: listedOf(found) };
    const overview = overviewOf(found);
    const claimedIn = claimedInOf(holding);
    Object.assign(shown, holding, areIn(holding, claimedIn && !overview.claimed));
    const { item, unit, mayBeGiven, admitted } = holding;
    const here = hereOf(holding);
    fillCard(view, item, { itemId });
    if (!item) description.textContent = itemId;
    // A long description is whole here, and does not push the actions out of view.
    if (view.hasAttribute("data-cut")) {
      part("mine").after(description);
      description.classList.add("panel");
    }
    for (const place of view.querySelectorAll("[data-name]"))
      place.textContent = ` ${quoted(nameOf(item))}`;
    const doors = doorTexts(holding);
    const hidden = hiddenOf(holding);
    // For a door that holds nothing itself.
    const letIn = gettext("Let in here and on imported lists: {amount}", {
      amount: admitted,
    });
    const large = item && !hidden.overview ? item.total : here;
    part("sum").textContent = large
      ? unitsText(large, unit)
      : doors.shift() || (hidden.door ? gettext("You have none") : letIn);
    // The overview already has the figures of units left and handed out.
    const waiting = hidden.overview ? holding.waiting : mayBeGiven;
    const waits = waitTexts({ ...holding, waiting });
    const { cameBack: redeemed } = holding;
    // Redeemed units may be handed out again.
    const given = holding.given - mayBeGiven;
    const inAll = gettext("{given} went out: {redeemed} redeemed, {out} still out", {
      given,
      redeemed,
      out: Math.max(0, given - redeemed),
    });
    const sums = !hidden.till && redeemed ? inAll : "";
    part("more").textContent = joinTexts([...waits, ...doors, sums]);
    drawOrigin(part, holding);
    drawGone(holding);
    find(part("may-be-given"), "span").textContent = gettext(
      "Counted as handed out since a backup was restored: {amount}. To send them, take them back first.",
      { amount: mayBeGiven },
    );
    view.toggleAttribute("data-overview", !hidden.overview);
    drawMainButton(part, holding, hidden);
    setEach("hidden", hidden, part);
    drawOverview(part, overview, claimedIn);
    drawLinks(holding);
  }
  return { element: view, draw };
}

/**
 * Make one button the main one: for makers it is Send, while there is something to
 * send.
 */
function drawMainButton(part, { isMinted, sum, back }, hidden) {
  const isForTill = !hidden.till && sum <= back;
  part("show").classList.toggle("quiet", isMinted);
  part("send").classList.toggle("quiet", !isMinted || isForTill);
  part("till").classList.toggle("quiet", !isForTill);
  part("door").classList.toggle("quiet", !isMinted || sum > 0);
}

/** Return which parts of the page to hide, because the person has no use for them. */
function hiddenOf(holding) {
  const { item, sum, isMinted, isHere, links, parts, offered } = holding;
  const { date } = aboutOf(item);
  // For a deed that was never here there is only a door or a till to open.
  const isTicket = isOfDoor(holding) || ((isMinted || !isHere) && Boolean(date));
  const isVoucher =
    isMinted &&
    !isTicket &&
    (links.length > 1 || !sum) &&
    links.some(({ output }) => output.amount > 1);
  // A maker's many links are handed out, not shown one by one.
  const isShown = parts.length > 0 && !(isMinted && links.length > 1);
  const isPaid = isForPaying(holding) && parts.length > 0;
  const isForTill = isVoucher || !(isHere || isTicket);
  return {
    "may-be-given": !holding.mayBeGiven,
    show: !isShown || isPaid,
    "more-show": !isPaid,
    pay: !isPaid,
    send: !sum,
    door: !isTicket,
    "more-door": isTicket || !isMinted,
    print: !links.some(isUsable),
    till: !isForTill,
    "more-till": isForTill,
    lists: !isTicket,
    similar: !isMinted,
    names: !isMinted || links.length < 2,
    split: sum < 2,
    trade: !sum,
    calendar: !date,
    merge: looseOf(holding).length < 2,
    overview: !isMinted || !(item?.total > 1),
    "to-offers": !offered,
  };
}

function drawOrigin(part, holding) {
  const { kind, text = "", tint = "" } = holding.origin ?? {};
  // The page shows anyway that the deed is here or was made here. For a deed that is
  // gone the origin no longer matters.
  const origin = part("origin");
  origin.hidden = !tint || !hereOf(holding);
  origin.className = `notice ${tint}`;
  put(part("origin-text"), text);
  const compared = part("compared");
  compared.hidden = kind !== "two" && kind !== "compared";
  put(compared, kind === "two" ? gettext("The mark is right") : gettext("Undo"));
}

/**
 * Return a function that draws the loss of units: in red, once, until the page is left.
 */
function goneNotice(place, shown) {
  let isNews = false;
  return (holding) => {
    const { lost, unknownSum, goneSeen } = holding;
    const goneSum = lost + unknownSum;
    const isNew = goneSum > goneSeen;
    isNews ||= isNew;
    place.textContent = goneText(holding);
    place.className = isNews ? "notice bad" : "faint";
    place.hidden = !place.textContent;
    if (isNew) recordSeen(shown, { goneSum }).catch(() => {});
  };
}

/** Record what a person has seen or said of a deed, in this browser only. */
const recordSeen = ({ store, itemId }, facts) =>
  store.update({ notes: [itemId] }, ({ notes }) => ({
    notes: [{ ...notes.get(itemId), ...facts, key: itemId }],
  }));

export function goneText({ lost, unknownSum, moved = 0, unit = "" }) {
  const unitsOf = (amount) => ({ units: unitsText(amount, unit) });
  const used = lost + moved;
  const gone =
    used &&
    ngettext(
      "{units} was used or sent from another device.",
      "{units} were used or sent from another device.",
      used,
      unitsOf(used),
    );
  const unknown =
    unknownSum && gettext("Not known to the service: {units}.", unitsOf(unknownSum));
  return joinTexts([gone, unknown], " ");
}

/** Return the links that were admitted by a guest's own code and belong to no row. */
const namelessOf = (/** @type {Pick<Holding, "links">} */ { links }) =>
  outputsIn(links, "admitted").filter(isNameless);

/** Return how many units of the claimed rows were admitted by a guest's own code. */
function claimedInOf(holding) {
  const claimed = outputsIn(holding.links, "claimed");
  return Math.min(unitsOf(namelessOf(holding)), unitsOf(claimed));
}

/**
 * Return whether the guests of all claimed rows are in, or only of some rows, unknown
 * which.
 */
const areIn = (holding, areAllIn) => ({
  areAllIn,
  areSomeIn: namelessOf(holding).some(({ note }) => !note),
});

function drawOverview(part, overview, claimedIn) {
  const hint = ngettext(
    "{count} of the rows “claimed” is in. The door couldn't check which one.",
    "{count} of the rows “claimed” are in. The door couldn't check which ones.",
    claimedIn,
  );
  put(part("in-hint"), claimedIn && overview.claimed ? hint : "");
  for (const [name, count] of Object.entries(overview)) {
    part(name).textContent = formatAmount(count);
    part(name).parentElement.hidden = !count && !ALWAYS_SHOWN.includes(name);
  }
  const shown = Object.entries(BAR).filter(([name]) => overview[name]);
  const pieces = shown.map(([name, state]) => {
    const piece = make("span", { "data-state": state });
    piece.style.flexGrow = overview[name];
    return piece;
  });
  part("bar").replaceChildren(...pieces);
}

/**
 * Take back links that count as handed out after a restore, except those claimed since.
 */
function askToTakeThemBack(shown, opener) {
  const outputs = shown.links
    .map(({ output }) => output)
    .filter(({ state, mayBeGiven }) => state === "given" && mayBeGiven);
  ask({
    title: gettext("Take them back?"),
    content: [
      gettext("Links that you shared since the backup stop working."),
      gettext("Those with a number get a new link with the same one."),
    ],
    yes: gettext("Take them back"),
    opener,
    said: gettext("The links that nobody had claimed are back in My deeds."),
    act: (onWait) => takeBack(outputs, shown, onWait),
  });
}

/** Return the parts without a number. Links of a series keep their numbers. */
const looseOf = ({ parts }) => parts.filter(({ number }) => !number);

/**
 * Return the rows of a deed: its links, and its parts if there are several. A link that
 * was taken back is left out if it came again with its number.
 */
export function listedOf(/** @type {Pick<Holding, "links" | "parts">} */ holding) {
  const { links } = holding;
  const loose = looseOf(holding).map((output) =>
    rowOf({ output, state: "here", at: 0 }),
  );
  const isSeries = links.some(({ output }) => output.number);
  const rows = isSeries || loose.length > 1 ? [...links, ...loose] : links;
  const latest = new Map([...rows].sort(byIssue).map((row) => [numbersOf(row), row]));
  const isLatest = (row) => latest.get(numbersOf(row)) === row || !numbersOf(row);
  const shown = rows.filter((row) => row.state !== "taken back" || isLatest(row));
  return withSaid(shown).sort(byNumber);
}

const numbersOf = ({ output: { number, numbers } }) => String(numbers ?? number ?? "");

const byIssue = ({ output: one }, { output: other }) =>
  (one.issue ?? 1) - (other.issue ?? 1) || one.createdAt - other.createdAt;

function askToMerge(shown, opener) {
  const { itemId, item, wallet, run } = shown;
  const values = {
    parts: ngettext("{count} part", "{count} parts", looseOf(shown).length),
    name: quoted(nameOf(item)),
  };
  ask({
    title: gettext("Merge the parts into one?"),
    content: [gettext("{parts} of {name} become one.", values)],
    yes: gettext("Merge"),
    opener,
    said: gettext("They are one part now."),
    act: (onWait) => run(() => wallet.merge(itemId), onWait),
  });
}
