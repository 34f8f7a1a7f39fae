// The open door: it sees by the camera, shows a verdict that fills the screen, and lets it be heard
// and felt.

import { byId, make } from "../../ui/dom.js";
import { startScan } from "../../ui/scan.js";

const LAST_COUNT = 5;

/** How long a verdict stays. What is waited for stays until it is known, or until the next code. */
const STAY_MS = { valid: 1500, refused: 4000 };

/** Two tones up are a yes, a long low one is a no: frequencies in Hz, length in s, pattern in ms. */
const SIGNALS = {
  valid: { type: "sine", notes: [880, 1320], lengthS: 0.12, vibration: [80] },
  refused: { type: "sawtooth", notes: [150], lengthS: 0.5, vibration: [250, 100, 250] },
};

const door = byId("door", HTMLDialogElement);

/**
 * Return the door, which the button Start opens.
 * @param {(text: string) => void} onText called with what the camera sees, and with what is typed
 */
export function makeDoor(onText) {
  const place = byId("verdict");
  const list = byId("door-last");
  const waiting = new Map();
  let shownKey = "";
  let timer = 0;
  let audio = null;

  /** Go back to what the camera sees. */
  function clear() {
    clearTimeout(timer);
    shownKey = "";
    delete door.dataset.kind;
    place.replaceChildren();
  }

  const look = makeEyes(onText);
  byId("start").addEventListener("click", () => {
    // Within the tap, or browsers keep it silent.
    audio = new AudioContext();
    door.showModal();
    look();
  });
  door.addEventListener("close", () => {
    clear();
    audio.close();
  });
  byId("type-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = byId("type", HTMLInputElement);
    if (field.value.trim()) onText(field.value);
    field.select();
  });

  return {
    clear,

    /**
     * Let a verdict fill the screen, and be heard.
     * @param {import("./judge.js").Verdict} verdict
     */
    show({ kind, title, detail, key = "" }) {
      clear();
      shownKey = key;
      door.dataset.kind = kind;
      place.append(make("p", { class: "door-title", dir: "auto" }, title));
      if (detail) place.append(make("p", { class: "door-detail", dir: "auto" }, detail));
      if (STAY_MS[kind]) timer = setTimeout(clear, STAY_MS[kind]);
      if (SIGNALS[kind] && door.open) signal(audio, SIGNALS[kind]);
    },

    /** Return whether the screen shows this ticket. */
    isShown: (key) => door.open && key === shownKey,

    /**
     * Put a verdict into the list, in the place of the waiting for it.
     * @param {import("./judge.js").Verdict} verdict
     */
    note(verdict) {
      const row = rowOf(verdict);
      const before = waiting.get(verdict.key);
      if (before?.isConnected) before.replaceWith(row);
      else list.prepend(row);
      if (verdict.isHeld) waiting.set(verdict.key, row);
      else waiting.delete(verdict.key);
      list.children[LAST_COUNT]?.remove();
    },
  };
}

/** Return what turns on the camera, and its light if it has one, for as long as the door is open. */
function makeEyes(onText) {
  const light = byId("light", HTMLButtonElement);
  const again = byId("again");
  let scan = null;
  let isOn = false;

  function tell(text) {
    byId("door-camera").textContent = text;
    again.hidden = isOn;
  }

  function end() {
    isOn = false;
    light.hidden = true;
    tell("The camera is off.");
  }

  async function look() {
    // Screens that nobody touches go dark.
    navigator.wakeLock?.request("screen").catch(() => {});
    if (isOn) return;
    isOn = true;
    tell("The camera starts.");
    try {
      scan = await startScan(byId("door-video", HTMLVideoElement), onText, end);
      // Closed while the person was asked about the camera.
      if (!door.open) return scan.stop();
      light.hidden = !isOn || !scan.setTorch;
      light.setAttribute("aria-pressed", "false");
      if (isOn) tell("");
    } catch (error) {
      isOn = false;
      tell(error.message);
    }
  }

  light.addEventListener("click", async () => {
    const isLit = light.getAttribute("aria-pressed") !== "true";
    const isDone = await scan.setTorch(isLit).then(() => true, () => false);
    if (isDone) light.setAttribute("aria-pressed", String(isLit));
  });
  again.addEventListener("click", look);
  byId("stop").addEventListener("click", () => door.close());
  door.addEventListener("close", () => scan?.stop());
  document.addEventListener("visibilitychange", () => door.open && !document.hidden && look());
  return look;
}

function rowOf({ kind, title, detail = "" }) {
  const time = new Date().toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  const said = kind === "valid" && detail ? `${title}, ${detail}` : title;
  return make("li", { "data-kind": kind }, `${time} `, make("span", { dir: "auto" }, said));
}

function signal(audio, { type, notes, lengthS, vibration }) {
  navigator.vibrate?.(vibration);
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
