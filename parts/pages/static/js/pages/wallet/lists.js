// The list of deeds, in which each row leads to the page of a deed, with a search from
// eight deeds on; what is new about them; and the history.

import { unitsText } from "../../format/amounts.js";
import { fill, gettext, joinTexts, ngettext, plain } from "../../format/gettext.js";
import {
  aboutOf,
  isExpired,
  isMixed,
  isPast,
  nameOf,
  whenOrUntilText,
  whenText,
} from "../../format/about.js";
import {
  clockText,
  offerStateText,
  offerText,
  operationText,
  partText,
  quoted,
  timeText,
} from "../../texts.js";
import { imageOf, makeMark, markText, thumbnailOf } from "../../ui/card.js";
import {
  byId,
  copyTemplate,
  find,
  listInPieces,
  make,
  makeHint,
  partsIn,
  setEach,
} from "../../ui/dom.js";
import { sayError } from "../../ui/forms.js";
import { overviewOf } from "../../wallet/holdings.js";
import { partsOf } from "../../wallet/offers.js";
import { openCodes } from "./show_code.js";

/** @typedef {import("../../wallet/holdings.js").Summary} Summary */

const NEWS_COUNT_MAX = 3;
const NEWS = {
  claimed: gettext("Claimed: {units}."),
  lost: gettext("Used elsewhere: {units}."),
  unknownSum: gettext("Not known to the service: {units}."),
};

const SEARCHED_FROM = 8;
const GROUP_MS_MAX = 60_000;
/** A code that is spent within this time after it was shown was used by a door. */
const SCAN_MS_MAX = 600_000;
const ENDED = gettext("ended");
const TAGS = {
  begun: ["wait", gettext("under way")],
  open: ["wait", gettext("open")],
  ended: ["", ENDED],
  refused: ["bad", gettext("refused")],
};

export function deedList(/** @type {import("../open_wallet.js").Opened} */ tools) {
  const field = byId("search-field", HTMLInputElement);
  let all = [];
  const drawRows = listInPieces(byId("holdings"), byId("holdings-more"), {
    // An unknown item, or one that a file has cut, may get a picture later.
    keyOf: ({ itemId, item }) => `${itemId} ${Boolean(imageOf(item))}`,
    make: (summary) => deedRow(summary, tools),
  });

  function draw(summaries) {
    all = byDate(summaries);
    const found = all.filter((summary) => isFound(summary, field.value));
    setEach("hidden", {
      search: all.length < SEARCHED_FROM,
      "no-holdings": all.length > 0,
    });
    drawRows(found);
  }

  field.oninput = () => draw(all);
  return draw;
}

/**
 * Return deeds in the order in which a person needs them: the next date first, then
 * those without a date, last those that are over.
 */
export function byDate(/** @type {Summary[]} */ summaries, now = Date.now()) {
  const dated = summaries.map((summary) => {
    const about = aboutOf(summary.item);
    const at = about.date ? Number(about.date) : NaN;
    // An event stays on top until isPast, for guests who come late.
    return { summary, at, rank: isPast(about, now) ? 2 : Number(!at) };
  });
  dated.sort((one, other) => one.rank - other.rank || one.at - other.at || 0);
  return dated.map(({ summary }) => summary);
}

/**
 * Return whether the name, or the id, which includes the mark, contains the search
 * text.
 */
function isFound({ itemId, item }, text) {
  const words = plain(text);
  return [nameOf(item), markText(itemId), itemId].some((each) =>
    plain(each).includes(words),
  );
}

function deedRow({ itemId, item: known }, tools) {
  const element = copyTemplate("row-template");
  const part = partsIn(element, "card");
  const show = part("show");
  const note = part("note");
  show.onclick = () => openCodes({ ...tools, itemId }, show).catch(sayError);
  find(element, "a").setAttribute("href", `#${itemId}`);
  find(element, ".deed-frame").replaceWith(thumbnailOf(known ?? { id: itemId }));
  note.before(makeMark(itemId));
  const update = (summary) => {
    const { item, isMinted } = summary;
    const about = aboutOf(item);
    const isOver = isPast(about);
    // Makers have many links and show few; their button is on the page of the deed. A
    // deed for paying would be shown as a whole by mistake.
    show.hidden = isMinted || !summary.sum || isForPaying(summary);
    const { kind, text } = remarkOf(summary);
    setEach(
      "textContent",
      {
        name: nameOf(item),
        about: ` ${quoted(nameOf(item))} ${whenText(about)}`,
        sum: sumText(summary),
        // For a part of somebody else's vouchers it would look like their value.
        of: isMinted ? gettext("of {total}", item) : "",
        when: whenOrUntilText(about),
        where: about.place,
        note: text,
        ended: isOver && !isExpired(about) ? ENDED : "",
      },
      part,
    );
    part("when").classList.toggle("bad", isExpired(about));
    note.className = `row-note ${kind}`;
    // A maker who has handed out everything still needs the deed.
    element.classList.toggle("over", isOver || !(isMinted || hereOf(summary)));
  };
  return { element, update };
}

/**
 * Return how many units are here; for makers the figure in the overview of the deed.
 */
function sumText(/** @type {Summary} */ summary) {
  const here = hereOf(summary);
  if (!here && !summary.isMinted) return gettext("You have none");
  const units = (amount) => unitsText(amount, summary.unit);
  return summary.isMinted
    ? gettext("{units} left", { units: units(overviewOf(summary).here) })
    : units(here);
}

/** Return whether its holder pays with parts of a deed, as with a voucher. */
export const isForPaying = (/** @type {Summary} */ { isMinted, item, most }) =>
  !isMinted && !aboutOf(item).date && most > 1;

/**
 * Return the most important remark on a deed for the list. Red means that the person
 * must act. A loss is not reported again once the person has seen the page of the deed.
 */
export function remarkOf(
  /** @type {Summary & {goneSeen: number, origin?: import("../../ui/origin.js").Origin}} */ summary,
) {
  const { unit, goneSeen, preparing, mayBeGiven, moved, origin, isMinted } = summary;
  const missing = summary.lost + summary.unknownSum;
  const values = { units: unitsText(missing, unit) };
  if (missing > goneSeen)
    return {
      kind: "bad",
      text: summary.lost
        ? gettext("{units} no longer yours", values)
        : fill(NEWS.unknownSum, values),
    };
  if (isMixed(nameOf(summary.item)))
    return {
      kind: "bad",
      text: gettext("This name mixes alphabets: it may imitate another name."),
    };
  // For a deed that is gone the origin no longer matters.
  if (origin?.tint === "bad" && hereOf(summary))
    return { kind: "bad", text: origin.short };
  if (preparing)
    return { kind: "wait", text: gettext("preparing {ready} of {count}", preparing) };
  const [door] = doorTexts(summary);
  const overview = overviewOf(summary);
  const { claimed, back, admitted } = isMinted ? overview : summary;
  // The figure in the bar on the page of the deed.
  const waiting = isMinted ? overview.given + mayBeGiven : summary.waiting;
  const [wait] = waitTexts({ ...summary, waiting });
  const outside = joinTexts([
    some(admitted, gettext("{amount} admitted")),
    some(
      claimed,
      isMinted ? gettext("{amount} claimed") : gettext("{amount} passed on"),
    ),
    some(back, gettext("{amount} came back")),
  ]);
  const counted = some(mayBeGiven, gettext("{amount} counted as handed out"));
  const besides = joinTexts([wait, counted, isMinted && outside, door]);
  if (wait || (isMinted && counted)) return { kind: wait ? "wait" : "", text: besides };
  const elsewhere = some(moved, gettext("{amount} used or sent elsewhere"));
  return { kind: "", text: door || counted || outside || elsewhere };
}

/** Return a text with an amount, empty for 0. */
const some = (amount, text) => (amount ? fill(text, { amount }) : "");

/** Return how much a door has used, and when a code of held units was last shown. */
export function doorTexts(/** @type {Summary} */ summary) {
  const { item, sum, used, lastUsed, shownAt } = summary;
  const shown = shownAt ? [gettext("shown {time}", { time: clockText(shownAt) })] : [];
  if (!lastUsed) return shown;
  const { changedAt, shownAt: since = 0 } = lastUsed;
  // A deed without a date has no door. Offline, the wallet hears of the use late.
  const isLate = !aboutOf(item).date || changedAt - since > SCAN_MS_MAX;
  const time = clockText(isLate ? since : changedAt);
  return [usedText(sum && used, isLate, time), ...shown];
}

/** @param {number} amount 0 if all was used */
function usedText(amount, isLate, time) {
  const values = { amount, time };
  if (!amount)
    return isLate
      ? gettext("Used since it was shown, {time}", values)
      : gettext("Used at the door {time}", values);
  return isLate
    ? gettext("{amount} used since it was shown, {time}", values)
    : gettext("{amount} used at the door {time}", values);
}

/** Return how many units are here, including those that an offer may take. */
export const hereOf = ({ sum, offered }) => sum + offered;

/** Return how many units of a deed are elsewhere for now, or will be here. */
export function waitTexts(
  /** @type {Summary} */ { unit, coming, waiting, mayBeGiven, offered, asked },
) {
  const units = { units: unitsText(coming, unit) };
  return [
    coming ? gettext("{units} on the way", units) : "",
    some(waiting - mayBeGiven, gettext("{amount} handed out")),
    some(offered, gettext("{amount} offered")),
    some(asked, gettext("{amount} asked for")),
  ].filter(Boolean);
}

/**
 * Return a sentence for each deed of which links were claimed, or something was lost.
 */
export function newsOf(before, after) {
  const all = after.flatMap((summary) => {
    const { itemId, item } = summary;
    const more = (name) => summary[name] - (before.get(itemId)?.[name] ?? Infinity);
    const news = Object.entries(NEWS).filter(([name]) => more(name) > 0);
    return news.map(([name, text]) =>
      fill(text, { units: partText(more(name), item) }),
    );
  });
  const more = all.length - NEWS_COUNT_MAX;
  return more > 0
    ? [
        ...all.slice(0, NEWS_COUNT_MAX),
        ngettext("And {count} more.", "And {count} more.", more),
      ]
    : all;
}

/**
 * Return the operations, the latest first. Operations of one kind, deed and result
 * within a minute are joined to one: a hundred links that were pasted together are
 * claimed together.
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
  return (
    isEqual && !isExchange(group) && group.oldestAt - operation.begunAt <= GROUP_MS_MAX
  );
}

const isExchange = ({ kind }) => kind === "trade" || kind === "complete";

/** Return what an operation has done; for an exchange both sides. */
export function historyText(group, itemOf) {
  if (!isExchange(group)) return operationText(group, itemOf);
  const { gives: give, gets: want } = partsOf(group);
  return operationText(group, itemOf, offerText({ give, want, state: "done" }, itemOf));
}

export function historyView(itemOf) {
  const drawRows = listInPieces(byId("history"), byId("history-more"), {
    keyOf: (group) =>
      `${group.key} ${group.state} ${historyText(group, itemOf)} ${group.count}`,
    make: (group) => ({ element: historyRow(group, itemOf) }),
  });
  return (history) => drawRows(groupsOf(history));
}

function historyRow(group, itemOf) {
  const { kind, state, begunAt, endedAt, count, itemId, code = "" } = group;
  // An offer that nobody accepted is not a failure.
  const [tint, word] = TAGS[code.startsWith("offer_") ? "ended" : state] ?? [];
  const tag = word ? make("span", { class: `tag ${tint}` }, word) : "";
  // A payment may come long after the request.
  const values = { time: timeText(kind === "ask" ? endedAt || begunAt : begunAt) };
  const when =
    count > 1
      ? ngettext("{time}, {count} time", "{time}, {count} times", count, values)
      : values.time;
  const hints = state === "refused" ? [offerStateText(group), when] : [when];
  return make(
    "li",
    { tabindex: "-1" },
    ...(itemId ? [thumbnailOf(itemOf(itemId) ?? { id: itemId })] : []),
    make("p", {}, historyText(group, itemOf), " ", tag),
    ...hints.map((text) => makeHint(text)),
  );
}
