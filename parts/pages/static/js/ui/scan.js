// Reads QR codes with the camera, by the browser's own detector or else by the npm
// package `qr`, which is loaded from our own address when first needed.

import { gettext } from "../format/gettext.js";
import { make, makeActions, makeButton, pause } from "./dom.js";
import { openDialog, say, sayError } from "./forms.js";

const FORMAT = "qr_code";

/** Pause between two looks, so that phones stay cool. */
const REST_MS = 120;
/** A text that was out of sight for this long is reported again. */
const GONE_MS = 1500;
/**
 * Side in pixels of the picture that the package examines. A code of 45 modules on a
 * third of it has 5 pixels per module.
 */
const SIDE_MAX = 720;

const CAMERA_TEXTS = {
  NotAllowedError: gettext("The browser was not allowed to use the camera."),
  NotFoundError: gettext("There is no camera."),
};

/** Return why this page cannot scan and what to do `instead`; empty if it can. */
export async function whyNoScan(
  instead = gettext("Use the phone's camera app: it opens the link."),
) {
  if (!isSecureContext)
    return gettext("The camera works only on pages loaded over https.");
  if (!navigator.mediaDevices?.getUserMedia)
    return gettext("This browser doesn't let pages use the camera.");
  const canRead = "codeReader" in document.body.dataset || (await nativeDetector());
  return canRead ? "" : `${gettext("This browser can't read QR codes.")} ${instead}`;
}

/** Return the button that opens the scanner, hidden if the page cannot scan. */
export function scanWay(onText) {
  const scan = makeButton(gettext("Scan a QR code"), () =>
    openScanner((text, close) => onText(text, close).catch(sayError), scan),
  );
  scan.hidden = true;
  whyNoScan().then((why) => (scan.hidden = Boolean(why)));
  return makeActions(scan);
}

/**
 * Show what the camera sees. `onText` gets each text and a function that closes the
 * dialog.
 * @param {(text: string, close: () => void) => unknown} onText
 * @param {HTMLElement} opener gets the focus afterwards
 */
function openScanner(onText, opener) {
  const video = make("video", {
    muted: true,
    playsinline: true,
    "aria-label": gettext("What the camera sees"),
  });
  const { close } = openDialog({
    title: gettext("Scan a QR code"),
    content: [video],
    closeText: gettext("Stop"),
    kind: "scan",
    onClose: () => stop(),
    opener,
  });
  const onEnd = (problem) => {
    close();
    if (problem) say(problem);
  };
  const stop = startScan(video, (text) => onText(text, close), onEnd);
}

/**
 * Show what the camera sees in `video`, and call `onText` with the text of each QR
 * code, once while it stays in sight. The scan ends when the page is left or hidden, or
 * when the returned function is called. Then `onEnd` is called once, with the problem
 * if there was one. Clear `seen` to have texts that are still in sight reported again.
 * @param {(problem: string) => void} [onEnd]
 */
export function startScan(video, onText, onEnd = () => {}, seen = new Map()) {
  const ending = new AbortController();
  const stop = (problem = "") => {
    if (ending.signal.aborted) return;
    ending.abort();
    onEnd(problem);
  };
  watch(video, untilGone(onText, seen), stop, ending.signal).catch(({ message }) =>
    stop(message),
  );
  return () => stop();
}

/** Look until this scan has ended; then the video may belong to the next scan. */
async function watch(video, onTexts, stop, signal) {
  const read = await makeReader();
  const stream = await openCamera();
  const close = () => stream.getTracks().forEach((track) => track.stop());
  // The scan was stopped while the browser asked for permission.
  if (signal.aborted) return close();
  signal.addEventListener("abort", () => {
    close();
    video.srcObject = null;
  });
  video.srcObject = stream;
  stream.getVideoTracks()[0].onended = () => stop();
  document.addEventListener("visibilitychange", () => document.hidden && stop(), {
    signal,
  });
  await video.play().catch(() => {});
  if (document.hidden) stop();
  while (!signal.aborted) {
    const texts = await read(video).catch(() => []);
    if (!signal.aborted) onTexts(texts);
    await pause(REST_MS);
  }
}

/**
 * Return a function that takes the texts of each look and reports each text at first
 * sight, at most one per look, so that each can be handled. It uses a monotonic clock,
 * because the time of day may be set back.
 */
export function untilGone(onText, seen) {
  return (texts) => {
    const moment = performance.now();
    for (const [text, lastMs] of seen) if (moment - lastMs > GONE_MS) seen.delete(text);
    const fresh = texts.find((text) => text && !seen.has(text));
    for (const text of texts)
      if (text === fresh || seen.has(text)) seen.set(text, moment);
    if (fresh) onText(fresh);
  };
}

async function openCamera() {
  const video = {
    facingMode: "environment",
    width: { ideal: 1280 },
    height: { ideal: 720 },
  };
  try {
    return await navigator.mediaDevices.getUserMedia({ video });
  } catch (error) {
    throw new Error(
      CAMERA_TEXTS[error.name] ??
        gettext("The camera can't be used. Another app may be using it."),
    );
  }
}

/**
 * Return the browser's own detector if it can read QR codes, else null. TypeScript does
 * not know its type yet.
 */
async function nativeDetector() {
  const { BarcodeDetector } = /** @type {{BarcodeDetector?: any}} */ (globalThis);
  const formats = await BarcodeDetector?.getSupportedFormats().catch(() => []);
  return formats?.includes(FORMAT) ? BarcodeDetector : null;
}

async function makeReader() {
  const native = await nativeDetector();
  const Detector = native ?? (await loadDetector());
  const detector = new Detector({ formats: [FORMAT] });
  const draw = native ? (video) => video : makeDrawing();
  return async (video) =>
    (await detector.detect(draw(video))).map(({ rawValue }) => rawValue);
}

async function loadDetector() {
  try {
    return (await import(document.body.dataset.codeReader ?? "")).BarcodeDetector;
  } catch {
    throw new Error(
      gettext(
        "The QR reader couldn't be loaded. Check your connection and reload this page.",
      ),
    );
  }
}

/**
 * Return a function that draws the middle of a video, for a detector that would examine
 * all of it.
 */
function makeDrawing() {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { willReadFrequently: true });
  return (video) => {
    const { videoWidth: width, videoHeight: height } = video;
    const side = Math.min(width, height);
    canvas.width = canvas.height = Math.min(side, SIDE_MAX);
    const left = (width - side) / 2;
    const top = (height - side) / 2;
    context?.drawImage(video, left, top, side, side, 0, 0, canvas.width, canvas.height);
    return canvas;
  };
}
