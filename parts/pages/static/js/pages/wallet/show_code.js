// Shows the codes of held units to a door, which claims them. Showing them neither
// moves nor hands out anything, so it works offline. Online, the page says what became
// of them. It asks the service often at first, because a guest waits at the door. Any
// tab may also have moved the units behind a code.

import { unitsText } from "../../format/amounts.js";
import { gettext } from "../../format/gettext.js";
import { aboutOf, nameOf, whenText } from "../../format/about.js";
import { clockText, heldText, waitText } from "../../texts.js";
import { makeMark } from "../../ui/card.js";
import {
  copyTemplate,
  find,
  keepAwake,
  make,
  oneAfterTheOther,
  onReturn,
  put,
  setEach,
} from "../../ui/dom.js";
import { openDialog, say } from "../../ui/forms.js";
import { drawCode, linkOf } from "../../ui/link_view.js";
import { findOrigins } from "../../ui/origin.js";
import { ask, NoAnswerError } from "../../wallet/api.js";
import { isUsed, readHolding } from "../../wallet/holdings.js";
import { readOutputs } from "../../wallet/records.js";
import { keepAsking } from "../retries.js";

/** Only a deed with a date has a door. */
const AT_DOOR = gettext(
  "Used just now. At the door? You're in. Otherwise tell the organiser.",
);
/** How long a code is shown as used before the next one follows. */
const STAY_MS = 3_000;
/** Unlike the door, the wallet does not know who has used the code. */
const TEXTS = {
  asking: "",
  offline: gettext("Updates when you're online."),
  used: gettext("Used just now."),
  moved: gettext("Sent or used elsewhere. This code no longer works."),
};

/**
 * Show the held units of an item, one part at a time, the lowest number first. After a
 * door has used one, the next follows, if there is one.
 */
export async function openCodes(tools, opener) {
  const { store, itemId } = tools;
  const { item, unit, parts } = await readHolding(store, itemId);
  if (!parts.length) return say(gettext("There is no code to show right now."));
  const rank = ({ number = Infinity }) => number;
  parts.sort((one, other) => rank(one) - rank(other) || 0);
  const view = copyTemplate("code-template");
  const write = (texts) => setEach("textContent", texts, (name) => find(view, name));
  const about = aboutOf(item);
  const origin = item && (await findOrigins(store, [item])).get(itemId);
  write({
    ".deed-when": whenText(about),
    ".place": about.place,
    ".code-origin": origin?.tint === "bad" ? origin.text : "",
  });
  find(view, ".code-mark").append(makeMark(itemId));
  const left = new Set(parts);
  let leave = () => {};
  const show = (part) => {
    leave();
    const held = heldText(part, unit);
    const use = useText(part, unit, Boolean(about.date));
    write({ ".code-about": held, ".code-use": use });
    find(view, ".code-frame").replaceChildren(codeOf(part, { ...tools, unit }));
    leave = watchCode(part, tools, (state) => {
      view.dataset.state = state;
      const isAtDoor = state === "used" && about.date;
      put(find(view, ".code-state"), isAtDoor ? AT_DOOR : TEXTS[state]);
      if (state !== "used" && state !== "moved") return;
      write({ ".code-about": `${held} · ${clockText(Date.now())}` });
      goOn(part);
    });
  };
  const actions = oneAfterTheOther(parts, show, (part) => left.has(part));

  function goOn(part) {
    left.delete(part);
    if (!left.size) return put(dialog.closeButton, gettext("Done"));
    leave();
    const timer = setTimeout(() => actions[0].click(), STAY_MS);
    leave = () => clearTimeout(timer);
  }

  const letSleep = keepAwake();
  const onClose = () => {
    leave();
    letSleep();
  };
  const dialog = openDialog({
    title: nameOf(item),
    content: [view],
    actions,
    kind: "code-sheet",
    onClose,
    opener,
  });
}

/** Return what to do with a code, or what it gives away. */
function useText({ amount }, unit, isForDoor) {
  if (amount === 1)
    return isForDoor
      ? gettext("Let them scan this at the door.")
      : gettext("Let them scan this.");
  return gettext("Anyone who scans this code gets everything: {units}.", {
    units: unitsText(amount, unit),
  });
}

/**
 * Return an element with the code from the store, or with the link if there is none.
 */
function codeOf(output, tools) {
  const place = make("div", { class: "qr" });
  const showLink = (error) => {
    const why = waitText(error, gettext("The door can type the link instead:"));
    const link = make("p", { class: "code" }, linkOf(output, tools.unit));
    place.className = "stack";
    place.append(`${gettext("The code isn't loaded yet.")} ${why}`, link);
  };
  drawCode(place, output, tools, gettext("QR code")).catch(showLink);
  return place;
}

/**
 * Each pair: up to the first time after a code was shown, query at the second interval,
 * in ms.
 */
const ROUNDS = [
  [20_000, 2_000],
  [120_000, 5_000],
];
const LAST_ROUND_MS = 20_000;

/**
 * Record that the code of a held output is shown, and ask from now on what becomes of
 * it. Call `tell` with its state whenever that may have changed. Return a function that
 * ends this.
 * @typedef {"asking" | "offline" | "used" | "moved"} CodeState `used`: most likely a
 *   door has claimed it; `moved`: it was sent, or claimed by a copy of this wallet
 * @param {{key: string}} output
 * @param {Pick<import("../open_wallet.js").Opened, "wallet" | "store">} opened
 * @param {(state: CodeState) => void} tell
 */
export function watchCode({ key }, { wallet, store }, tell) {
  const shownAt = performance.now();
  let isOver = false;
  let isOffline = false;

  function roundMs() {
    const shownMs = performance.now() - shownAt;
    const round = ROUNDS.find(([untilMs]) => shownMs < untilMs);
    // Vary it by a quarter, so that a whole audience does not ask at the same time.
    return (round?.[1] ?? LAST_ROUND_MS) * (0.75 + Math.random() / 2);
  }

  async function look() {
    const [output] = await readOutputs(store, [key]);
    if (isOver) return;
    isOver = output.state === "spent";
    if (isOver) tell(isUsed(output) ? "used" : "moved");
    else tell(isOffline ? "offline" : "asking");
  }

  async function checkRound() {
    const { problem } = navigator.onLine
      ? await ask(() => wallet.checkShown(key))
      : { problem: new NoAnswerError() };
    isOffline = problem instanceof NoAnswerError;
    await look();
    // Without an answer, ask as often as before, because a guest waits.
    if (problem && !isOffline) throw problem;
  }

  const wake = keepAsking({ checkRound, isOver: () => isOver, roundMs });
  const endings = [store.onChange(() => look().catch(() => {})), onReturn(wake)];
  tell("asking");
  // Ask even if there is no room to record this.
  wallet
    .shown(key)
    .catch(() => {})
    .then(wake);
  return () => {
    isOver = true;
    endings.forEach((end) => end());
  };
}
