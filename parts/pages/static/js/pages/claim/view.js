// Draws the Claim page: what was sent, what a person can do with it, and what became of
// it.

import { aboutOf } from "../../format/about.js";
import { claimLink } from "../../format/claim_link.js";
import { gettext, ngettext } from "../../format/gettext.js";
import { saveDate } from "../../ui/calendar.js";
import { fillCard } from "../../ui/card.js";
import { byId, copyTemplate, find, listInPieces, put } from "../../ui/dom.js";
import { keyOf } from "../../wallet/records.js";
import { isInApp, outsideOf } from "./in_app.js";
import {
  headingOf,
  isBad,
  isKept,
  isLate,
  isOpened,
  isStuck,
  lateText,
  offerOf,
  TEXTS,
} from "./state.js";

/**
 * @typedef {{
 *   output: import("../../format/raw_output.js").RawOutput & {unit?: string, isOlder?: boolean},
 *   item: import("../../wallet/records.js").Item | null | undefined,
 *   state: import("./state.js").ClaimState,
 *   origin?: import("../../ui/origin.js").Origin,
 * }} FoundRow
 */

/**
 * @param {{take: (outputs) => any, remove: (output) => any}} acts for links that were
 *   opened before
 */
export function claimView(acts) {
  const section = byId("found");
  const list = byId("found-list");
  const drawnIn = (place) =>
    listInPieces(place, null, {
      keyOf: ({ output }) => keyOf(output),
      make: (row) => makeFoundRow(row, acts),
    });
  const drawRows = drawnIn(list);
  const drawOlder = drawnIn(byId("older-list"));
  const takeOlder = byId("take-older");
  const button = byId("claim-button");
  const problem = byId("claim-error");
  const heading = byId("heading");
  const outcomeTitle = byId("claimed-title");
  const inApp = isInApp(navigator.userAgent);
  let isBusy = false;
  byId("main").toggleAttribute("data-in-app", inApp);

  function drawOffer(rows, canClaim) {
    const offer = offerOf(rows);
    const isOffered = !isBusy && canClaim && offer.rows.length > 0;
    byId("offer").hidden = !isOffered;
    button.textContent = offer.text;
    button.classList.toggle("quiet", offer.isQuiet || inApp);
    drawElsewhere(rows, isStuck(rows, canClaim) || (inApp && isOffered));
    // Only one of the two buttons is the main one.
    byId("claimed-link").classList.toggle("quiet", !offer.isQuiet);
  }

  return {
    draw(/** @type {FoundRow[]} */ all, canClaim) {
      const strangersCount = byId("strangers").children.length;
      const rows = all.filter(isOpened);
      const older = all.filter((row) => !isOpened(row));
      put(
        byId("older-count"),
        ngettext(
          "{count} other link, not claimed yet",
          "{count} other links, not claimed yet",
          older.length,
        ),
      );
      const canTake = canClaim && !isBusy;
      drawOlder(older.map((row) => ({ ...row, canTake })));
      const offer = offerOf(older);
      takeOlder.hidden = !canTake || offer.rows.length < 2;
      takeOlder.textContent = offer.text;
      takeOlder.onclick = () => acts.take(offer.rows.map(({ output }) => output));
      section.hidden = !rows.length && !strangersCount;
      // For a single link the heading of the page says it all.
      const isAlone = rows.length === 1;
      list.classList.toggle("single", isAlone);
      drawRows(rows.map((row) => ({ ...row, isAlone })));
      const [title, lead] = headingOf(rows, { strangersCount, canClaim });
      put(heading, title);
      put(byId("lead"), lead);
      document.title = `${title} · Deeds`;
      drawOutcome(rows, isBusy, lead);
      drawOffer(rows, canClaim);
      byId("paste-button").classList.toggle("quiet", !section.hidden);
    },

    drawStrangers(links) {
      byId("strangers").replaceChildren(...links.map(makeStranger));
    },

    /** Until this is called without a text, everything drawn counts as on its way. */
    setBusy(text = "") {
      isBusy = Boolean(text);
      if (isBusy) put(outcomeTitle, text);
    },

    /**
     * Hide rows of which nothing is known while the page looks, so that they do not
     * jump.
     */
    setLooking(isLooking) {
      section.toggleAttribute("data-looking", isLooking);
      if (!isLooking) byId("waiting").hidden = true;
    },

    setAdding: (isAdding) => byId("entry").toggleAttribute("data-adding", isAdding),

    tell: (text) => problem.replaceChildren(text),

    focusFound: () => heading.focus({ preventScroll: true }),

    /** Focus the outcome, unless the person has moved on from where it began. */
    focusOutcome() {
      const { activeElement } = document;
      if (activeElement !== document.body && !section.contains(activeElement)) return;
      const title = byId("claimed").hidden ? problem : outcomeTitle;
      if (!title.textContent) return;
      // Scroll no further than necessary.
      title.focus({ preventScroll: true });
      title.scrollIntoView({ block: "nearest" });
    },
  };
}

/** Offer to open the links in another browser. */
function drawElsewhere(/** @type {FoundRow[]} */ rows, isOffered) {
  byId("elsewhere").hidden = !isOffered;
  if (!isOffered) return;
  const [{ output }, ...others] = rows;
  const link = claimLink(location.origin, output, output);
  const address = others.length ? "" : outsideOf(link, navigator.userAgent);
  byId("outside").hidden = !address;
  byId("outside").setAttribute("href", address);
  byId("copy-link").classList.toggle("quiet", Boolean(address));
}

/**
 * Show what became of the links. From the tap on, this takes the place of the button,
 * so that nothing moves when the answer comes.
 */
function drawOutcome(rows, isBusy, lead) {
  const outcome = byId("claimed");
  const taken = rows.filter(({ state }) => ["taken", "back"].includes(state.kind));
  outcome.hidden =
    !isBusy && !taken.length && rows.every(({ state }) => state.kind !== "busy");
  outcome.className = `notice ${isBusy || !taken.length ? "wait" : "good"}`;
  outcome.toggleAttribute("data-busy", isBusy);
  // Invisible until then, it reserves the space for the text that follows.
  if (isBusy) put(byId("claimed-why"), TEXTS.taken[1]);
  if (isBusy || outcome.hidden) return;
  const [itemId = "", ...others] = new Set(taken.map(({ output }) => output.itemId));
  byId("claimed-link").setAttribute(
    "href",
    others.length ? "/wallet" : `/wallet#${itemId}`,
  );
  const title =
    taken.length > 1
      ? ngettext("{count} is yours now", "{count} are yours now", taken.length)
      : gettext("Yours now");
  const dated = taken.find(({ item }) => item && aboutOf(item).date);
  byId("claimed-calendar").hidden = !dated;
  byId("claimed-calendar").onclick = () => dated?.item && saveDate(dated.item);
  put(byId("claimed-title"), taken.length ? title : gettext("On its way"));
  const why = rows.find(({ state }) => state.kind === "busy")?.state.text ?? "";
  put(byId("claimed-why"), taken.length ? lead : why);
}

function makeFoundRow({ output }, acts) {
  const element = copyTemplate("found-row");
  const tag = find(element, ".found-state > .tag");
  const take = find(element, ".take");
  take.onclick = () => {
    // Drop the focus here, so that it can follow the outcome to the top.
    take.blur();
    acts.take([output]);
  };
  find(element, ".remove").onclick = () => acts.remove(output);
  /** @type {FoundRow["item"] | false} */
  let shown = false;

  return {
    element,
    /** @param {FoundRow & {isAlone?: boolean, canTake?: boolean}} row */
    update(row) {
      const { item, state: claim, origin, isAlone, canTake } = row;
      const offer = offerOf([row]);
      take.hidden = !canTake || !offer.rows.length;
      put(take, offer.text);
      if (shown !== item) fillFound(find(element, ".deed"), output, item);
      shown = item;
      element.dataset.state = claim.kind;
      element.toggleAttribute(
        "data-pending",
        item === undefined || claim.kind === "asking",
      );
      put(tag, isLate(row) ? lateText(row) : claim.word);
      tag.classList.toggle("good", isKept(claim) && claim.kind !== "used");
      tag.classList.toggle("bad", isBad(claim) || isLate(row));
      put(find(element, ".found-text"), claim.isTold ? claim.text : "");
      drawOrigin(find(element, ".origin"), origin, claim, isAlone);
    },
  };
}

/** Draw the origin of a deed until the claim, and always if it could mislead. */
function drawOrigin(place, origin, { canTake }, isAlone) {
  const { text = "", short = "", tint = "" } = origin ?? {};
  const isWhole = isAlone || tint === "bad";
  place.hidden = !(isWhole ? text : short) || !(canTake || tint === "bad");
  place.className = `origin ${isWhole ? "notice" : "tag"} ${tint}`.trim();
  put(place, isWhole ? text : short);
}

/**
 * Fill the card of a deed. Ask before loading a picture: its host would learn who is
 * about to claim.
 */
function fillFound(card, { itemId, amount, unit }, item) {
  fillCard(card, item, { itemId, amount, unit: item?.unit ?? unit, pictures: "ask" });
  if (item === null)
    find(card, "[data-card=name]").textContent = gettext("Unknown deed");
  find(card, "[data-card=of]").hidden = !item;
}

function makeStranger({ host, address }) {
  const row = copyTemplate("stranger");
  find(row, "strong").textContent = host;
  find(row, "a", HTMLAnchorElement).href = address;
  return row;
}
