// The open door: it sees by the camera, shows a verdict that fills the screen, and lets it be heard
// and felt.

import { byId, make } from "../../ui/dom.js";
import { startScan, whyNoScan } from "../../ui/scan.js";

const LAST_COUNT = 5;

/**
 * How long a verdict stays, and how it is heard: two tones up are a yes, a long low one is a no;
 * frequencies in Hz, length in s, pattern of the vibration in ms. What more will be told of stays
 * until it is known, or until the next code.
 */
const SIGNALS = {
  valid: { stayMs: 1500, type: "sine", notes: [880, 1320], lengthS: 0.12, pattern: [80] },
  refused: { stayMs: 4000, type: "sawtooth", notes: [150], lengthS: 0.5, pattern: [250, 100, 250] },
  waiting: { stayMs: 4000, type: "sine", notes: [], lengthS: 0, pattern: [] },
};

const door = byId("door", HTMLDialogElement);

/**
 * Return the door, which the button Start opens.
 * @param {(text: string) => void} onText called with what the camera sees, and with what is typed
 */
export function makeDoor(onText) {
  const list = byId("door-last");
  const waiting = new Map();
  let shownKey = "";
  let timer = 0;
  let audio = null;

  /** Let a verdict fill the screen, and be heard; with none, show what the camera sees. */
  function show({ kind = "", title = "", detail = "", key = "", isHeld = false } = {}) {
    clearTimeout(timer);
    shownKey = key;
    door.dataset.kind = kind;
    byId("verdict-title").textContent = title;
    byId("verdict-detail").textContent = detail;
    if (!kind || isHeld) return;
    timer = setTimeout(show, SIGNALS[kind].stayMs);
    if (door.open) signal(audio, SIGNALS[kind]);
  }

  const look = makeEyes(onText);
  byId("start").addEventListener("click", () => {
    // Within the tap, or browsers keep it silent.
    audio = new AudioContext();
    door.showModal();
    look();
  });
  door.addEventListener("close", () => {
    show();
    audio.close();
  });
  byId("type-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = byId("type", HTMLInputElement);
    if (field.value.trim()) onText(field.value);
    field.select();
  });

  return {
    show,

    /** Return whether the screen shows this ticket. */
    isShown: (key) => door.open && key === shownKey,

    /** Put a verdict into the list, in the place of the waiting for it. */
    note(verdict) {
      const row = rowOf(verdict);
      const before = waiting.get(verdict.key);
      if (before?.isConnected) before.replaceWith(row);
      else list.prepend(row);
      waiting.set(verdict.key, verdict.isHeld && row);
      list.children[LAST_COUNT]?.remove();
    },
  };
}

/** Return what turns on the camera for as long as the door is open. */
function makeEyes(onText) {
  /** Shown while the camera is off. */
  const again = byId("again");
  const video = byId("door-video", HTMLVideoElement);
  let stop = () => {};

  function tell(isOn, text) {
    again.hidden = isOn;
    byId("door-camera").textContent = text;
  }

  async function look() {
    // Screens that nobody touches go dark.
    navigator.wakeLock?.request("screen").catch(() => {});
    if (again.hidden) return;
    tell(true, "The camera starts.");
    const why = await whyNoScan("Type or paste the links of tickets below.");
    if (why) return tell(true, why);
    stop = startScan(video, onText, (problem) => tell(false, problem || "The camera is off."));
  }

  video.addEventListener("playing", () => video.srcObject && tell(true, ""));
  again.addEventListener("click", look);
  byId("stop").addEventListener("click", () => door.close());
  door.addEventListener("close", () => stop());
  document.addEventListener("visibilitychange", () => door.open && !document.hidden && look());
  return look;
}

function rowOf({ kind, title, detail }) {
  const said = kind === "valid" && detail ? `${title}, ${detail}` : title;
  const time = `${new Date().toLocaleTimeString()} `;
  return make("li", { "data-kind": kind }, time, make("span", { dir: "auto" }, said));
}

function signal(audio, { type, notes, lengthS, pattern }) {
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
