// Shows one link to its owner, with ways to hand it over, and draws links as QR codes.
// The service draws the codes, many per request; the wallet keeps them for use offline.
//
// Anybody who sees a link can claim it. So before a link is shown, copied, shared,
// drawn or saved, the wallet records that it is handed out. From then on nothing else
// in this browser spends it.

import { gettext, ngettext } from "../format/gettext.js";
import { aboutOf } from "../format/about.js";
import { claimLink } from "../format/claim_link.js";
import { formatRawOutput } from "../format/raw_output.js";
import { noteOf } from "../format/tickets.js";
import { heldText, linkText, partText } from "../texts.js";
import { makeCard } from "./card.js";
import {
  copyTemplate,
  copyText,
  download,
  find,
  make,
  makeActions,
  makeButton,
  makeHint,
  oneAfterTheOther,
  pause,
} from "./dom.js";
import { makeField, openDialog, say, sayCopied, sayError } from "./forms.js";
import { batchesOf } from "../wallet/api.js";
import { readHolding } from "../wallet/holdings.js";
import { isFree, NOTE_LENGTH_MAX } from "../wallet/links.js";
import { keysOf } from "../wallet/records.js";

// Limits of a request, from parts/pages/qr_codes.py. Links are ASCII: their length is
// their size in bytes.
const CODES_AT_ONCE_MAX = 64;
const BYTES_AT_ONCE_MAX = 12_288;
/** Codes that are kept ready, those of the latest outputs. */
const READY_MAX = 50;
const HELD = { state: "held" };
/** Requests for the same codes while the service is busy. */
const TRIES_MAX = 20;

/**
 * @typedef {import("../wallet/records.js").OutputRecord} OutputRecord
 * @typedef {{
 *   wallet: Pick<import("../wallet/wallet.js").Wallet, "codes" | "keepCodes">,
 *   api: Pick<import("../wallet/api.js").Api, "qr">, unit?: string,
 * }} CodeTools `unit` is the issuer's word for a unit, which links contain
 * @typedef {CodeTools & {
 *   wallet: Pick<import("../wallet/wallet.js").Wallet, "give" | "setNotes">,
 *   store: Pick<import("../wallet/store.js").Store, "read">,
 *   item: import("../wallet/records.js").Item | null,
 * }} LinkTools
 */

/**
 * Return the view of a link that is held or given. The page must contain its template
 * and that of cards.
 */
export function makeLinkView(
  /** @type {OutputRecord} */ output,
  /** @type {LinkTools} */ tools,
) {
  const { item, unit } = tools;
  const { itemId, amount } = output;
  const link = linkOf(output, unit);
  const about = partText(amount, item);
  const copy = [about, link, formatRawOutput(output), ""].join("\n");
  const handOverBy = (act) => () => handOver([output], tools, act);
  const view = copyTemplate("link-view-template");
  const developers = find(view, "details", HTMLDetailsElement);
  const fill = handOverBy(() =>
    find(developers, "div").replaceChildren(
      textField(gettext("Claim link"), link),
      textField(gettext("Raw output"), formatRawOutput(output)),
    ),
  );
  developers.ontoggle = () => developers.open && fill();
  find(view, "button").onclick = handOverBy(() =>
    download(copy, "text/plain", `${itemId}.txt`),
  );
  const showInstead = () => {
    developers.open = true;
    say(gettext("This browser doesn't let pages copy. The link is at the end."));
  };
  view.prepend(
    makeCard(item, { itemId, amount, unit }),
    linkButtons(
      handOverBy(() => share(link, about)),
      () => copyLink(output, tools, showInstead),
    ),
    codePlace(output, tools, handOverBy, about),
    noteField(output, tools),
  );
  return view;
}

function noteField(output, tools) {
  const label = gettext("For whom? (optional)");
  const { element, field } = makeNoteField(label, output, output.note);
  field.onchange = () => {
    // The view may be made again from this output.
    output.note = field.value;
    keepNote(output, tools, field.value);
  };
  if (aboutOf(tools.item).date && tools.item.isMinted)
    element.append(
      makeHint(gettext("The door shows this note, where it has the guest list.")),
    );
  return element;
}

export const openLinkDialog = (output, tools) => openLinksDialog([output], tools);

/**
 * Hand out links that are held or given, and show them one at a time, with `more`
 * below. If they cannot be handed out, show none.
 */
export function openLinksDialog(outputs, tools) {
  return handOver(outputs, tools, async (handedOut) => {
    const { links } = await readHolding(tools.store, outputs[0].itemId);
    // `readHolding` adds the numbers of links that were joined.
    const given = handedOut.map(
      (each) => links.find(({ output }) => output.key === each.key)?.output ?? each,
    );
    const hint = gettext(
      "Whoever opens the link first can claim it. Until then you can take it back.",
    );
    const count = given.length;
    const place = make("div", { class: "stack" });
    const show = (output) => {
      const view = makeLinkView(output, tools);
      find(view, ":scope > h3").before(makeHint(hint));
      place.replaceChildren(view);
      const which = make("strong", {}, heldText(output, tools.unit));
      if (count > 1) place.prepend(make("p", {}, which));
    };
    const next = oneAfterTheOther(given, show);
    const all = given.map((output) => linkOf(output, tools.unit)).join("\n");
    const copyAll = makeButton(gettext("Copy all links"), () => sayCopied(all));
    openDialog({
      title:
        count === 1
          ? gettext("Your link: {ticket}", { ticket: linkText(given[0], tools.unit) })
          : ngettext("Your {count} link", "Your {count} links", count),
      content: [place, ...(tools.more ?? [])],
      actions: count > 1 ? [...next, copyAll] : [],
      closeText: gettext("Done"),
      opener: tools.opener,
    });
  });
}

export const makeNoteField = (label, output, value = "") =>
  makeField(label, {
    value,
    maxlength: String(noteLengthOf(output)),
    autocomplete: "off",
    dir: "auto",
  });

/** Return how many characters a person's note on a link may have. */
export const noteLengthOf = (output) =>
  NOTE_LENGTH_MAX + 1 - noteOf(output, "x").length;

export const keepNote = (
  output,
  /** @type {Pick<LinkTools, "wallet">} */ { wallet },
  words,
) => wallet.setNotes([output.key, noteOf(output, words)]).catch(sayError);

/** Hand a link out and copy it. Show it if the browser does not let pages copy. */
export function handOverByCopy(
  output,
  /** @type {LinkTools & {opener: HTMLElement}} */ tools,
) {
  return copyLink(output, tools, () => openLinkDialog(output, tools));
}

/** Record that links are handed out, and only then call `act`; announce errors. */
const handOver = (outputs, { wallet }, act) =>
  wallet.give(keysOf(outputs)).then(act).catch(sayError);

/**
 * Return the buttons that hand a link over. If pages can share, that is the main one.
 */
export function linkButtons(onShare, onCopy) {
  const canShare = "share" in navigator;
  const kind = canShare ? "quiet" : "wide";
  const copyButton = makeButton(gettext("Copy link"), onCopy, { kind });
  if (!canShare) return makeActions(copyButton);
  const shareButton = makeButton(gettext("Share"), onShare, { kind: "wide" });
  return makeActions(shareButton, copyButton);
}

/** Let the person choose an app to share a link with, and a short text about it. */
export async function share(url, text) {
  try {
    await navigator.share({ text, url });
  } catch (error) {
    // The person has cancelled, and knows that.
    if (error.name !== "AbortError")
      say(gettext("Sharing didn't work. Copy the link."));
  }
}

/** Copy a link once it is handed out. The copy must be requested during the tap. */
function copyLink(output, /** @type {LinkTools} */ { wallet, unit }, showInstead) {
  const sayWhich = () =>
    say(gettext("Link copied: {ticket}", { ticket: linkText(output, unit) }));
  return copyText(wallet.give([output.key]).then(() => linkOf(output, unit)))
    .then((isCopied) => (isCopied ? sayWhich() : showInstead()))
    .catch(sayError);
}

/** Show the code at once if the link was handed out before, else after a tap. */
function codePlace(output, tools, handOverBy, about) {
  const place = make("div", { class: "qr" });
  const show = handOverBy(() =>
    drawCode(place, output, tools, gettext("QR code: {units}", { units: about })),
  );
  place.append(makeButton(gettext("Show QR code"), show));
  if (output.state === "given") show();
  return place;
}

/** Return a read-only field, which is selected on focus. */
export function textField(label, value) {
  const { element, field } = makeField(label, { readonly: true, value, dir: "ltr" });
  field.onfocus = () => field.select();
  return element;
}

/**
 * Return the claim link of an output. It states the number, or the first of several,
 * for doors.
 */
export function linkOf(output, unit) {
  const said = output.number ?? output.numbers?.[0] ?? output.said;
  return claimLink(location.origin, output, { unit, said });
}

/**
 * Return the QR codes of outputs as SVG, by output key. Codes that came before an error
 * are kept. `onProgress` gets the number of codes so far.
 * @returns {Promise<Map<string, string>>}
 */
export async function codesOf(outputs, /** @type {CodeTools} */ tools, options = {}) {
  const { wallet, api, unit } = tools;
  const {
    onProgress = () => {},
    wait = pause,
    link = (output) => linkOf(output, unit),
  } = options;
  const codes = await wallet.codes(keysOf(outputs));
  const missing = outputs.filter(({ key }) => !codes.has(key));
  onProgress(codes.size);
  for (const batch of batchesOf(missing, sizeOfBatches(missing.map(link)))) {
    const svgs = await patiently(() => api.qr(batch.map(link)), wait);
    const drawn = batch.map(({ key }, place) => ({ key, svg: svgs[place] }));
    // A device without room to keep them still shows them.
    await wallet.keepCodes(drawn).catch(() => {});
    for (const { key, svg } of drawn) codes.set(key, svg);
    onProgress(codes.size);
  }
  return codes;
}

/** Show the QR code of an output in an element. */
export async function drawCode(place, output, tools, alt, options = {}) {
  const codes = await codesOf([output], tools, options);
  place.replaceChildren(codeImage(codes.get(output.key), alt));
}

/** Fetch and keep the codes of outputs that are held, of deeds that others made. */
export async function keepReady(
  /** @type {Pick<LinkTools, "store" | "wallet" | "api">} */
  { store, wallet, api },
) {
  const held = await store.read(
    { outputs: HELD, items: "all" },
    ({ outputs, items }) => {
      const free = outputs.list(HELD).filter(isFree);
      return free.map((output) => ({ ...output, item: items.get(output.itemId) }));
    },
  );
  const latest = held
    .filter(({ item }) => !item?.isMinted)
    .sort((one, other) => other.createdAt - one.createdAt);
  const link = (output) => linkOf(output, output.item?.unit);
  await codesOf(latest.slice(0, READY_MAX), { wallet, api }, { link });
}

/** Return the image of a code. An image runs no scripts, whatever the SVG contains. */
export function codeImage(svg = "", alt = "") {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const image = make("img", { src: url, alt, width: "256", height: "256" });
  image.onload = image.onerror = () => URL.revokeObjectURL(url);
  return image;
}

/** Return how many texts fit into a request if all are as long as the longest. */
function sizeOfBatches(texts) {
  const longest = texts.reduce((most, { length }) => Math.max(most, length), 1);
  return Math.min(CODES_AT_ONCE_MAX, Math.floor(BYTES_AT_ONCE_MAX / longest));
}

/** Repeat a request while the service is busy, after the time that it asks for. */
async function patiently(ask, wait) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (![429, 503].includes(error.status) || tries === TRIES_MAX) throw error;
      await wait(1000 * (error.retryAfterS ?? 1));
    }
  }
}
