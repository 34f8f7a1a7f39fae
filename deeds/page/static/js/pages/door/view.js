// The open door: it sees by the camera, shows a verdict that fills the screen, and lets it be heard
// and felt.

import { byId, make } from "../../ui/dom.js";
import { startScan } from "../../ui/scan.js";

/**
 * @typedef {import("./judge.js").Verdict} Verdict
 */

const LAST_COUNT = 5;

/** How long a verdict stays. What is waited for stays until it is known, or until the next code. */
const STAY_MS = { valid: 1500, refused: 4000 };

/** Two tones up are a yes, a long low one is a no: frequencies in Hz, length in s, pattern in ms. */
const SIGNALS = {
  valid: { type: "sine", notes: [880, 1320], lengthS: 0.12, vibration: [80] },
  refused: { type: "sawtooth", notes: [150], lengthS: 0.5, vibration: [250, 100, 250] },
};

/**
 * Return the door, which the button Start opens.
 * @param {(text: string) => void} onText called with what the camera sees, and with what is typed
 */
export function makeDoor(onText) {
  const door = byId("door", HTMLDialogElement);
  const place = byId("verdict");
  const list = byId("door-last");
  const waiting = new Map();
  let shown = null;
  let timer = 0;
  let audio = null;

  /** Go back to what the camera sees. */
  function clear() {
    clearTimeout(timer);
    shown = null;
    delete door.dataset.kind;
    place.replaceChildren();
  }

  const look = makeEyes(door, onText);
  const keepAwake = () => navigator.wakeLock?.request("screen").catch(() => {});
  byId("start").addEventListener("click", () => {
    // Within the tap, or browsers keep it silent.
    audio = new AudioContext();
    door.showModal();
    keepAwake();
    look();
  });
  byId("stop").addEventListener("click", () => door.close());
  byId("again").addEventListener("click", look);
  door.addEventListener("close", () => {
    clear();
    audio.close();
  });
  document.addEventListener("visibilitychange", () => {
    if (!door.open || document.hidden) return;
    keepAwake();
    look();
  });
  listenToField(onText);

  return {
    clear,

    /** Let a verdict fill the screen, and be heard. @param {Verdict} verdict */
    show(verdict) {
      clear();
      shown = verdict;
      const { kind, title, detail } = verdict;
      door.dataset.kind = kind;
      const parts = [make("p", { class: "door-title", dir: "auto" }, title)];
      if (detail) parts.push(make("p", { class: "door-detail", dir: "auto" }, detail));
      place.replaceChildren(...parts);
      if (STAY_MS[kind]) timer = setTimeout(clear, STAY_MS[kind]);
      if (SIGNALS[kind] && audio) signal(audio, SIGNALS[kind]);
    },

    /** Return whether the screen shows this ticket. */
    isShown: (key) => door.open && Boolean(shown) && shown.key === key,

    /** Put a verdict into the list, in the place of the waiting for it. @param {Verdict} verdict */
    note(verdict) {
      const row = rowOf(verdict);
      const before = waiting.get(verdict.key);
      if (before?.isConnected) before.replaceWith(row);
      else list.prepend(row);
      if (verdict.isHeld) waiting.set(verdict.key, row);
      else waiting.delete(verdict.key);
      while (list.children.length > LAST_COUNT) list.lastElementChild?.remove();
    },
  };
}

/** Return what turns on the camera, and the light where there is one, while the door is open. */
function makeEyes(door, onText) {
  const light = byId("light", HTMLButtonElement);
  const camera = byId("door-camera");
  const again = byId("again");
  let isOn = false;
  let stop = () => {};

  const tell = (text, canStart = Boolean(text)) => {
    camera.textContent = text;
    again.hidden = !canStart;
  };
  const onEnd = () => {
    isOn = false;
    light.hidden = true;
    tell("The camera is off.");
  };
  door.addEventListener("close", () => stop());

  return async () => {
    if (isOn) return;
    isOn = true;
    tell("The camera starts.", false);
    try {
      const scan = await startScan(byId("door-video", HTMLVideoElement), onText, onEnd);
      ({ stop } = scan);
      // Closed while the person was asked about the camera.
      if (!door.open) return stop();
      if (isOn) tell("");
      light.hidden = !scan.setTorch;
      light.setAttribute("aria-pressed", "false");
      light.onclick = () => toggleLight(light, scan.setTorch);
    } catch (error) {
      isOn = false;
      tell(error.message);
    }
  };
}

async function toggleLight(light, setTorch) {
  const isLit = light.getAttribute("aria-pressed") !== "true";
  await setTorch(isLit).then(
    () => light.setAttribute("aria-pressed", String(isLit)),
    () => {},
  );
}

function listenToField(onText) {
  const field = byId("type", HTMLInputElement);
  byId("type-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (text) onText(text);
    field.select();
  });
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
