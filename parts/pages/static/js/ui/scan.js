// Reads QR codes with the camera: by the browser's own detector, or else by the npm
// package `qr`, which comes from our own address once a person has asked for it.

import { gettext } from "../format/gettext.js";
import { make, makeActions, makeButton, pause } from "./dom.js";
import { openDialog, say, sayError } from "./forms.js";

const FORMAT = "qr_code";

/** How long a phone rests between two looks, so that it stays cool. */
const REST_MS = 120;
/** A text that was out of sight for so long is told again. */
const GONE_MS = 1500;
/**
 * Of what the package looks at. A code of 45 modules on a third of it has 5 pixels a
 * module.
 */
const SIDE_MAX = 720;

const CAMERA_TEXTS = {
  NotAllowedError: gettext("The browser was not allowed to use the camera."),
  NotFoundError: gettext("There is no camera."),
};

/**
 * Return why this page cannot scan and what to do `instead`, or nothing where it can.
 */
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

/** Return what opens it beside what could be typed, hidden where there is no camera. */
export function scanWay(onText) {
  const scan = makeButton(gettext("Scan a QR code"), () =>
    openScanner((text, close) => onText(text, close).catch(sayError), scan),
  );
  scan.hidden = true;
  whyNoScan().then((why) => (scan.hidden = Boolean(why)));
  return makeActions(scan);
}

/**
 * Show what the camera sees. `onText` gets each text, and what closes the dialog once
 * one was taken.
 * @param {(text: string, close: () => void) => unknown} onText
 * @param {HTMLElement} opener has the focus afterwards
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
 * Show in `video` what the camera sees, and call `onText` with each text of a QR code,
 * once for as long as it stays in sight. It ends by itself when the page is left or
 * hidden, or by what is returned; `onEnd` is called once when it has ended, with what
 * went wrong. What is still in sight is told again once `seen` was cleared.
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

/** Look until this scan has ended: the video may show the next one by then. */
async function watch(video, onTexts, stop, signal) {
  const read = await makeReader();
  const stream = await openCamera();
  const close = () => stream.getTracks().forEach((track) => track.stop());
  // Stopped while the person was asked about the camera.
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
 * Return what is told the texts of each look, and tells of each at its first sight: no
 * more than one of a look, so that each can be answered. The time of day may be set
 * back.
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
 * Return the browser's own detector where it knows QR codes; TypeScript does not know
 * it yet.
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
 * Return what draws the middle of a video, for a detector that would look at all of it.
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
