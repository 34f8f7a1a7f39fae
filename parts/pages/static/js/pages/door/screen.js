// The screen of a door. It shows what the camera sees, then a verdict, with sound and
// vibration.

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
/**
 * Maximum lines of a note. Its letters are as large as this and its longest word
 * permit.
 */
const NOTE_LINES_MAX = 3;

/**
 * How long a verdict stays, and its sound: two rising tones for yes, a long low one for
 * no, three equal ones for a ticket that was here before. Frequencies are in Hz,
 * lengths in s, vibration patterns in ms.
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
 * Return the door, which the Start button opens. `onText` gets what is scanned and
 * typed.
 */
export function makeDoor({ onText, ask, onClose }) {
  let shownKey = "";
  let seenAt = 0;
  let timer = 0;
  let audio = null;
  let letSleep = () => {};

  /**
   * Fill the screen with a verdict and signal it; without one, show what the camera
   * sees.
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
      // While the code of a guest who was let in or waits stays in sight, it is not
      // judged again.
      if (kind === "refused" || (kind === "waiting" && !verdict.isPending))
        seen.clear();
      show();
    }, stayMs);
    signal(audio, SIGNALS[kind]);
  }

  /** Rows of verdicts that wait for their answers, by key. */
  const waiting = new Map();
  /** Texts that the camera still sees, and that are not judged again. */
  const seen = new Map();
  const look = makeEyes(onText, seen);
  const readScan = makeKeyReader((scan) => textOfScan(scan).then(onText, sayError));
  // Keys answer an open question instead.
  const readKey = (event) =>
    document.querySelector("dialog.sheet[open]") || readScan(event);
  byId("start").onclick = () => {
    // Audio must be created during the tap, or browsers mute it.
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
    // Chromium fires the close event only with the next frame.
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

    /** Remove the verdict on a ticket. */
    clear: (key) => key === shownKey && show(),

    /**
     * Wait until the verdict on the screen was seen. One on the same ticket may be
     * replaced.
     */
    untilSeen: (key) => pause(key === shownKey ? 0 : seenAt - performance.now()),

    /** Put a verdict at the top of the list, in place of the one that waited. */
    note(verdict) {
      const { key, isPending } = verdict;
      const list = byId("door-last");
      const row = rowOf(verdict);
      waiting.get(key)?.remove();
      waiting.set(key, isPending ? row : null);
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

/** Draw a verdict. The note, which says whose ticket it is, is the largest. */
function draw(
  /** @type {Partial<Verdict>} */ { title = "", ticket = {}, detail = "" },
) {
  const { number, of: total, said } = ticket;
  const texts = (ticket.note ?? "").split(" · ");
  // The number that a code states is less important than whose ticket it is.
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

/** Return the row of a verdict. A valid ticket shows only its note, if it has one. */
function rowOf({ kind, title, amount = 1, ticket: { number = "", note = "" } = {} }) {
  const isPlain = kind === "valid" && amount === 1 && note;
  const words = isPlain || !note ? `${title} ` : `${title} · `;
  const said = make("span", { class: isPlain ? "unseen" : "" }, words);
  return make(
    "li",
    { "data-kind": kind },
    make("time", {}, new Date().toLocaleTimeString(LOCALE)),
    " ",
    make("strong", {}, String(number)),
    " ",
    make("span", { dir: "auto" }, said, note),
  );
}

function signal(audio, { type, notes = [], lengthS, pattern = [] }) {
  navigator.vibrate?.(pattern);
  // A phone call suspends it.
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
