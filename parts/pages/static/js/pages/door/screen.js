// The screen of a door, which sees by the camera, is filled by a verdict, and lets it be
// heard and felt.

import { gettext, joinTexts, LOCALE } from "../../format/gettext.js";
import { issueText, ticketText } from "../../format/tickets.js";
import {
  byId,
  find,
  keepAwake,
  keepFitting,
  make,
  pause,
  setEach,
} from "../../ui/dom.js";
import { say, sayError } from "../../ui/forms.js";
import { startScan, whyNoScan } from "../../ui/scan.js";
import { makeKeyReader, textOfScan } from "./key_scans.js";

const LAST_COUNT = 3;
/** A note has the size in which its longest word is in one line, and it in so many. */
const NOTE_LINES_MAX = 3;

/**
 * How long a verdict stays, and how it is heard: two tones up are a yes, a long low one
 * is a no, three that stay where they are say that it was here before; frequencies in
 * Hz, length in s, pattern of the vibration in ms.
 */
const SIGNALS = {
  valid: {
    stayMs: 1500,
    type: "sine",
    notes: [880, 1320],
    lengthS: 0.12,
    pattern: [80],
  },
  again: {
    stayMs: 4000,
    type: "triangle",
    notes: [520, 520, 520],
    lengthS: 0.16,
    pattern: [60, 80, 60, 80, 60],
  },
  refused: {
    stayMs: 4000,
    type: "sawtooth",
    notes: [150],
    lengthS: 0.5,
    pattern: [250, 100, 250],
  },
  waiting: { stayMs: 4000 },
};

/** @typedef {import("./judge.js").Verdict} Verdict */

const dialog = byId("door", HTMLDialogElement);
const fit = keepFitting(find(dialog, ".door-verdict"));

/**
 * Return the door, which the button Start opens; `onText` gets what is seen and what is
 * typed.
 */
export function makeDoor({ onText, ask, onClose }) {
  let shownKey = "";
  let seenAt = 0;
  let timer = 0;
  let audio = null;
  let letSleep = () => {};

  /**
   * Let a verdict fill the screen, and be heard; with none, show what the camera sees.
   */
  function show(/** @type {Partial<Verdict>} */ verdict = {}) {
    const { kind = "", key = "" } = verdict;
    clearTimeout(timer);
    if (kind && !dialog.open) return say(textOf(verdict));
    shownKey = key;
    dialog.dataset.kind = kind;
    draw(verdict);
    const { stayMs = 0 } = SIGNALS[kind] ?? {};
    seenAt = performance.now() + stayMs;
    if (!kind) return;
    timer = setTimeout(() => {
      // A guest who was let in and is still in sight has not come a second time, nor has
      // one who waits.
      if (kind === "refused" || (kind === "waiting" && !verdict.isKept)) seen.clear();
      show();
    }, stayMs);
    signal(audio, SIGNALS[kind]);
  }

  /** The rows of what waits for its answer, by its key. */
  const waiting = new Map();
  /** What the camera still sees, and is not judged again. */
  const seen = new Map();
  const look = makeEyes(onText, seen);
  const readScan = makeKeyReader((scan) => textOfScan(scan).then(onText, sayError));
  // A question before the door is answered by its own keys.
  const readKey = (event) =>
    document.querySelector("dialog.sheet[open]") || readScan(event);
  byId("start").onclick = () => {
    // Within the tap, or browsers keep it silent.
    audio = new AudioContext();
    letSleep = keepAwake();
    dialog.showModal();
    if (byId("scanner", HTMLInputElement).checked)
      document.addEventListener("keydown", readKey, true);
    look();
    ask(true).catch(sayError);
  };
  const stop = async (event) => {
    event.preventDefault();
    // A store that fails must not keep the camera on.
    if (!(await ask(false).catch(() => true))) return;
    // Chromium tells of a close with the next frame only.
    onClose();
    dialog.close();
  };
  byId("stop").onclick = stop;
  // Escape, or the back gesture of a phone.
  dialog.oncancel = stop;
  dialog.addEventListener("close", () => {
    document.removeEventListener("keydown", readKey, true);
    onClose();
    show();
    audio.close();
    letSleep();
  });
  byId("type-form").onsubmit = (event) => {
    event.preventDefault();
    const field = byId("type", HTMLInputElement);
    if (field.value.trim()) onText(field.value);
    field.select();
  };

  return {
    show,

    /** Take away what is said of a ticket. */
    clear: (key) => key === shownKey && show(),

    /** Wait until what is shown was seen; what is of the same ticket may be replaced. */
    untilSeen: (key) => pause(key === shownKey ? 0 : seenAt - performance.now()),

    /** Put a verdict on top of the list, in the place of one that waited for it. */
    note(verdict) {
      const { key, isKept } = verdict;
      const list = byId("door-last");
      const row = rowOf(verdict);
      waiting.get(key)?.remove();
      waiting.set(key, isKept ? row : null);
      list.prepend(row);
      list.children[LAST_COUNT]?.remove();
    },
  };
}

function makeEyes(onText, seen) {
  const again = byId("again");
  const video = byId("door-video", HTMLVideoElement);
  let stop = () => {};

  function tell(isOn, text) {
    again.hidden = isOn;
    byId("door-camera").textContent = text;
  }

  async function look() {
    if (again.hidden) return;
    tell(true, gettext("The camera starts."));
    const why = await whyNoScan(gettext("Type or paste the links of tickets below."));
    if (why) return tell(true, why);
    const onEnd = (problem) => tell(false, problem || gettext("The camera is off."));
    seen.clear();
    stop = startScan(video, onText, onEnd, seen);
  }

  video.onplaying = () => video.srcObject && tell(true, "");
  again.onclick = look;
  dialog.addEventListener("close", () => stop());
  document.addEventListener(
    "visibilitychange",
    () => dialog.open && !document.hidden && look(),
  );
  return look;
}

/** @param {Partial<Verdict>} verdict */
const textOf = ({ title, ticket, detail }) =>
  joinTexts([title, ticketText(ticket), detail]);

/** Write a verdict: whose ticket it is, is the largest. */
function draw(
  /** @type {Partial<Verdict>} */ { title = "", ticket = {}, detail = "" },
) {
  const { number, of: total, said } = ticket;
  const texts = (ticket.note ?? "").split(" · ");
  // What a code says is less than whose it is.
  const claim = said ? ` ${texts.shift()} ` : "";
  const note = joinTexts(texts);
  const words = note.split(/[ -]/).map((word) => word.length);
  const letters = Math.max(...words, note.length / NOTE_LINES_MAX);
  byId("verdict-note").style.setProperty("--letters", `${letters}`);
  setEach("textContent", {
    "verdict-title": title,
    "verdict-number": number
      ? ` ${gettext("No. {number} of {total}", { number, total })} `
      : claim,
    "verdict-issue": number ? issueText(ticket) : "",
    "verdict-note": note,
    "verdict-detail": detail,
  });
  fit();
}

/** Of what is valid it is enough to tell whose it is, where that is known. */
function rowOf({ kind, title, amount = 1, ticket: { number = "", note = "" } = {} }) {
  const isPlain = kind === "valid" && amount === 1 && note;
  const said = isPlain || !note ? `${title} ` : `${title} · `;
  const word = make("span", { class: isPlain ? "unseen" : "" }, said);
  return make(
    "li",
    { "data-kind": kind },
    make("time", {}, new Date().toLocaleTimeString(LOCALE)),
    " ",
    make("strong", {}, String(number)),
    " ",
    make("span", { dir: "auto" }, word, note),
  );
}

function signal(audio, { type, notes = [], lengthS, pattern = [] }) {
  navigator.vibrate?.(pattern);
  // A phone call in between puts it to sleep.
  audio.resume();
  const gain = new GainNode(audio, { gain: 0.4 });
  gain.connect(audio.destination);
  notes.forEach((frequency, place) => {
    const tone = new OscillatorNode(audio, { type, frequency });
    tone.connect(gain);
    tone.start(audio.currentTime + place * lengthS);
    tone.stop(audio.currentTime + (place + 1) * lengthS);
  });
}
