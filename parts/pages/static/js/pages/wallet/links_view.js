// The list of the links of one deed: which are here, handed out, claimed, or let in at
// any door, with a note for each, and actions for one or many of them.

import { unitsText } from "../../format/amounts.js";
import { statesCsvOf } from "../../format/csv.js";
import { formatAmount, gettext, plain } from "../../format/gettext.js";
import { issueText, numberText } from "../../format/tickets.js";
import { aboutOf, nameOf } from "../../format/about.js";
import { clockText, linkText, quoted, refusalText, saidText } from "../../texts.js";
import {
  copyTemplate,
  download,
  find,
  listInPieces,
  make,
  partsIn,
  setEach,
} from "../../ui/dom.js";
import {
  handOverByCopy,
  keepNote,
  makeNoteField,
  noteLengthOf,
  openLinkDialog,
} from "../../ui/link_view.js";
import { ask, say, sayError } from "../../ui/forms.js";
import { setUpMenus } from "../../ui/menu.js";
import { itemIdOf, WalletError } from "../../wallet/records.js";
import { drawSeries } from "../under_way.js";
import { linesOf, noteEach } from "./deed_forms.js";
import {
  countIn,
  fileName,
  isUsable,
  setUpLinkButtons,
  STATES,
} from "../link_export.js";

/** States that only makers and doors see. */
const AT_DOORS = ["admitted", "undone", "expected"];
/** The filter for all that are not let in, as far as is known. */
const NOT_IN = "not in";
/** A list of this many links or more has a search. */
const SEARCHED_FROM = 8;

/**
 * @typedef {import("../link_export.js").Shown} Shown
 */

/**
 * Return a function that draws the links of a deed after each change. It hides their
 * section if there are none, and controls for lists if there is one.
 * @param {Shown} shown has the holding that is drawn by then
 * @returns {(holding: import("../../wallet/holdings.js").Holding) => void}
 */
export function linksView(view, shown) {
  const part = partsIn(view);
  setUpLinkButtons(view, shown);
  part("states").onclick = () => saveStates(shown);
  const drawRows = rowsOf(part("links"), shown);
  return ({ item, links, preparing, isMinted }) => {
    const isUnusable = !links.some(isUsable);
    setEach(
      "hidden",
      {
        links: !links.length && !preparing,
        find: links.length < 2,
        export: links.length < 2,
        csv: isUnusable,
        "copy-all": isUnusable,
        // Guests have no list.
        states: !isMinted && !isOfDoor({ links }),
        "take-links-back": countIn(links, "waiting") < 2,
        "by-name": isMinted || !isOfDoor({ links }),
        // A deed without a date has no door.
        "claimed-hint":
          !isMinted ||
          shown.areAllIn ||
          !countIn(links, "claimed") ||
          !aboutOf(item).date,
      },
      part,
    );
    drawRows();
    drawSeries(part("series"), preparing);
  };
}

/** Return whether this browser has a door of the deed, or a list of one. */
export const isOfDoor = ({ links }) =>
  links.some(({ state }) => AT_DOORS.includes(state));

/** Download all links with their states, which hands out none of them. */
function saveStates(/** @type {any} */ shown) {
  const { item, links, cameBack } = shown;
  const name = gettext("{file} list", { file: fileName(item) });
  // The file has a separate column for what only a code said.
  const textsOf = (link) => [
    stateText({ ...link, by: undefined }, shown),
    saidText(link),
  ];
  const text = statesCsvOf(links, textsOf, {
    redeemed: cameBack,
    made: item?.total,
  });
  download(text, "text/csv", `${name}.csv`);
  say(gettext("The file is saved."));
}

function rowsOf(place, shown) {
  const filter = find(place, "select", HTMLSelectElement);
  const search = find(place, "[type=search]", HTMLInputElement);
  const drawRows = listInPieces(
    find(place, "ul"),
    find(place, "[data-part=more-links]"),
    {
      keyOf: ({ output }) => output.key,
      make: (link) =>
        rowOf(link, shown, (lines) => noteEach(lines, below(found, link), shown)),
    },
  );
  let found = [];
  const draw = () => {
    drawFilter(filter, shown);
    const { value } = filter;
    const inState = shown.links.filter((link) => isIn(link, value, shown));
    search.hidden = shown.links.length < SEARCHED_FROM;
    const text = search.hidden ? "" : search.value;
    const isWanted = ({ output }) => isFound(output, text);
    found = inState.filter(isWanted);
    // A person who searches wants the link in whatever state it is.
    if (text && !found.length) {
      found = shown.links.filter(isWanted);
      if (found.length) filter.value = "";
    }
    drawRows(found);
  };

  filter.onchange = draw;
  search.oninput = () => {
    draw();
    // The results are below, and a phone's keyboard covers half of the window.
    search.scrollIntoView();
  };
  return draw;
}

/** Return these rows from a link on. */
const below = (rows, { output: { key } }) =>
  rows.slice(rows.findIndex(({ output }) => output.key === key));

/** Return whether a link has the number, or a note with the words, of a search. */
export function isFound({ number = 0, of = 0, numbers, note = "" }, text) {
  const names = [...(numbers ?? [number]), numberText({ number, of, numbers })];
  const isNumber = names.some((name) => compact(`${name}`) === compact(text));
  return isNumber || plain(note).includes(plain(text));
}

/** Remove spaces, which may group digits, and type the dash of ranges as a hyphen. */
const compact = (text) => plain(text).replace(/\s/g, "").replace(/–/g, "-");

/**
 * Return whether no guest has come in with this link, as far as is known or was said.
 */
const isOut = ({ state, said }, { areAllIn }) =>
  !(said || (areAllIn && state === "claimed")) &&
  ["waiting", "claimed", "moved", "expected"].includes(state);

/** Return the word for the state of a link. Guests have nothing left to hand out. */
function stateText(
  /** @type {{state: string, output?: any, said?: any, by?: any}} */ link,
  { isMinted, areSomeIn, areAllIn },
) {
  const { state, output, said, by } = link;
  if (state === "admitted" && by) return gettext("in, its code says");
  if (state === "waiting" && output?.mayBeGiven)
    return gettext("counted as handed out");
  if (state === "here" && !isMinted) return gettext("yours");
  if (state === "expected" && said) return gettext("maybe in");
  if (state === "claimed" && areAllIn) return gettext("claimed, in");
  if (state === "claimed" && (areSomeIn || said)) return gettext("claimed, maybe in");
  return STATES[state];
}

/** Return whether a filter shows a link: "" shows all, others a state, or NOT_IN. */
const isIn = (link, value, shown) =>
  !value || link.state === value || (value === NOT_IN && isOut(link, shown));

/** Offer all links, and each state that occurs, with the number of links. */
function drawFilter(filter, /** @type {any} */ shown) {
  // Initially, as the link to this page says.
  const chosen = filter.length ? filter.value : location.hash.split("?")[1];
  const states = Object.keys(STATES).filter(
    (state) => state === chosen || countIn(shown.links, state),
  );
  const more = countIn(shown.links, "admitted") ? [NOT_IN] : [];
  const texts = { "": gettext("all"), [NOT_IN]: gettext("not seen at a door") };
  const options = ["", ...states, ...more].map((value) => {
    const attributes = { value, selected: value === chosen };
    const [first, ...others] = texts[value] ?? stateText({ state: value }, shown);
    const count = shown.links.filter((link) => isIn(link, value, shown)).length;
    const text = `${first.toUpperCase()}${others.join("")} (${formatAmount(count)})`;
    return make("option", attributes, text);
  });
  // The person may be choosing just now, so redraw only changes.
  if (options.map(({ text }) => text).join("") === filter.textContent) return;
  filter.replaceChildren(...options);
}

/**
 * Return the row of a link. `noteEach` gets the lines that are pasted into its note.
 */
function rowOf({ output: first }, shown, noteEach) {
  let output = first;
  // The output that was admitted, maybe by a code that only states the number.
  let admission = first;
  const element = copyTemplate("link-template");
  const actions = find(element, ".menu-list");
  const part = partsIn(element);
  setUpMenus(element);
  const note = find(element, "input", HTMLInputElement);
  // The note of a ticket that only a list knows belongs to the list's author.
  note.readOnly = !itemIdOf(first.key);
  note.oninput = () => {
    const { maxLength: most } = note;
    if (note.value.length === most)
      say(gettext("A note has at most {most} characters.", { most }));
  };
  note.onchange = () => keepNote(output, shown, note.value);
  note.onkeydown = ({ key }) => {
    if (key === "Enter") element.nextElementSibling?.querySelector("input")?.focus();
  };
  note.onpaste = (event) => {
    const lines = linesOf(event.clipboardData?.getData("text") ?? "");
    if (lines.length < 2 || note.value) return;
    event.preventDefault();
    note.blur();
    noteEach(lines).then(say, sayError);
  };
  const acts = {
    show: openLinkDialog,
    copy: handOverByCopy,
    "let-in": askToLetIn,
    "take-back": askToTakeBack,
    undo: (_, tools) => askToUndo(admission, tools),
    "new-code": (_, tools) => makeNewCode(admission, tools),
    note: () => note.focus(),
  };
  for (const [name, act] of Object.entries(acts))
    part(name).onclick = () => act(output, { ...shown, opener: part(name) });
  const update = (link) => {
    output = link.output;
    const { state, isLeftHere = false, by } = link;
    admission = by ?? output;
    // What came back can be handed out link by link.
    const isOpen = isUsable(link) || state === "back";
    // Close the menu before its entries are hidden, which would lose the focus.
    if (!isOpen && actions.contains(document.activeElement))
      actions.togglePopover?.(false);
    // A list may have added its number since.
    const title = titleOf(output, shown);
    const [short, ...besides] = shortTitleOf(output, shown);
    for (const place of element.querySelectorAll("[data-about]"))
      place.textContent = ` ${title}, ${quoted(nameOf(shown.item))}`;
    note.ariaLabel = gettext("Note for {ticket}", { ticket: title });
    note.hidden = note.readOnly && !output.note;
    part("note").hidden = note.readOnly;
    part("state").dataset.state = state;
    setEach(
      "textContent",
      {
        title: short,
        besides: besides.join(" · "),
        state: stateText(link, shown),
        when: whenText(link),
        said: by ? "" : saidText(link),
      },
      part,
    );
    note.maxLength = noteLengthOf(output);
    if (note !== document.activeElement) note.value = output.note ?? "";
    setEach(
      "hidden",
      {
        show: !isOpen,
        copy: !isOpen,
        "let-in":
          !(isOpen || state === "claimed") ||
          !shown.isMinted ||
          !aboutOf(shown.item).date,
        "take-back": state !== "waiting",
        undo: state !== "admitted",
        "new-code": !isLeftHere,
      },
      part,
    );
  };
  return { element, update };
}

/**
 * Return since when a link is in its state. For a claim, only the time is known when
 * this browser heard of it.
 */
function whenText({ state, at }) {
  if (!at || state === "here" || state === "back") return "";
  const time = clockText(at);
  return state === "claimed" ? gettext("seen {time}", { time }) : time;
}

/**
 * Return the parts of a short title, for example "17" and "2 tickets", "17" for one
 * ticket, or "2–4" for three.
 */
function shortTitleOf(output, { unit }) {
  const { number, amount, numbers } = output;
  const units = unitsText(amount, unit);
  const called = number ? formatAmount(number) : numberText({ numbers });
  if (!called) return ["", units];
  const isOneEach = amount === (numbers?.length ?? 1);
  return [called, isOneEach ? "" : units, issueText(output)].filter(Boolean);
}

/**
 * Return a title, for example "17 of 200 · 2 tickets", or "17 of 200" for one ticket.
 */
function titleOf(output, { unit }) {
  const number = numberText(output);
  const units = unitsText(output.amount, unit);
  if (!number) return units;
  return output.amount > 1 ? `${number} · ${units}` : number;
}

/** Let in a guest who has no code to show: the link in this browser is the code. */
function askToLetIn(output, { wallet, unit, opener }) {
  const ticket = linkText(output, unit);
  const isClaimed = output.spentElsewhere;
  ask({
    title: gettext("Let in without a code?"),
    content: [
      ticketLine(ticket),
      isClaimed
        ? gettext(
            "It was claimed, and only the guest's own browser has the code. This marks the row; anyone who comes with that code later is let in, too.",
          )
        : gettext("The link stops working."),
    ],
    yes: gettext("Let in"),
    said: gettext("Let in: {ticket}.", { ticket }),
    opener,
    act: async () => {
      if (isClaimed) return wallet.letInByHand(output.key);
      const { operation, problem } = await wallet.claim(output, { atDoor: true });
      if (operation.state === "refused")
        throw new WalletError("refused", refusalText(operation));
      if (operation.state !== "begun") return;
      // If it stays begun, only an open door sends it again.
      await wallet.cancel(operation.key);
      throw problem;
    },
  });
}

function askToTakeBack(output, { wallet, run, unit, opener }) {
  const ticket = linkText(output, unit);
  const { number, note = "" } = output;
  const hint = number
    ? gettext("The link stops working. You'll get a new link with the same number.")
    : gettext("The link stops working.");
  // The new link is often for somebody else.
  const label = gettext("Note on the new link");
  const { element, field } = makeNoteField(label, output, note);
  ask({
    title: gettext("Take back this link?"),
    content: [ticketLine(ticket), hint, ...(number && note ? [element] : [])],
    yes: gettext("Take back"),
    opener,
    said: gettext("Back in My deeds: {ticket}.", { ticket }),
    act: async (onWait) => {
      const operation = await run(() => wallet.takeBack(output.key), onWait);
      if (!number) return;
      const [fresh] = await wallet.outputsOf(operation);
      await wallet.setNotes([fresh.key, field.value]);
    },
  });
}

/**
 * Make the new link of a ticket that was admitted here, and whose admission a list has
 * undone.
 */
async function makeNewCode(output, /** @type {Shown & {opener: HTMLElement}} */ tools) {
  const fresh = await tools.wallet
    .undoAdmission(output.itemId, output.key)
    .catch(sayError);
  if (fresh) await openLinkDialog(fresh, tools);
}

const ticketLine = (text) => make("p", {}, make("strong", {}, text));

function undoText({ collectedAt, isByHand }) {
  if (collectedAt)
    return gettext("You get a new link for the guest. The old code no longer works.");
  if (isByHand) return gettext("This takes back the mark by hand.");
  return gettext(
    "It was let in at another door, so only this list changes. Make a new code for the guest at that door.",
  );
}

/** Undo an admission. If the ticket was admitted here, its guest gets a new link. */
function askToUndo(output, /** @type {Shown & {opener: HTMLElement}} */ tools) {
  const { wallet, unit, opener } = tools;
  const { close } = ask({
    title: gettext("Undo this admission?"),
    content: [ticketLine(linkText(output, unit)), undoText(output)],
    yes: gettext("Undo"),
    opener,
    act: async () => {
      const fresh = await wallet.undoAdmission(output.itemId, output.key);
      if (!fresh) return gettext("The list is updated.");
      close();
      await openLinkDialog(fresh, tools);
      return "";
    },
  });
}
