// The button of the Claim page that scans a QR code with the camera, where the browser can.

import { byId } from "../../ui/dom.js";
import { say } from "../../ui/notices.js";

const LOOK_EVERY_MS = 200;
const FORMAT = "qr_code";

// No standard yet, so TypeScript does not know it.
const { BarcodeDetector } = /** @type {{BarcodeDetector?: any}} */ (globalThis);

/** The camera cannot be used. The message is for people. */
class ScanError extends Error {
  name = "ScanError";
}

/**
 * Return whether this browser reads QR codes and lets this page see by a camera.
 * @returns {Promise<boolean>}
 */
async function canScan() {
  if (!BarcodeDetector || !navigator.mediaDevices?.getUserMedia) return false;
  try {
    return (await BarcodeDetector.getSupportedFormats()).includes(FORMAT);
  } catch {
    return false;
  }
}

/**
 * Show in `video` what the camera sees, and call `onText` with each text of a QR code, one that
 * stays in sight once.
 * @param {HTMLVideoElement} video
 * @param {(text: string) => void} onText
 * @returns {Promise<() => void>} stops it, and the camera's light with it
 * @throws {ScanError}
 */
async function startScan(video, onText) {
  const stream = await openCamera();
  const detector = new BarcodeDetector({ formats: [FORMAT] });
  let seen = "";
  let isOver = false;

  const stop = () => {
    isOver = true;
    for (const track of stream.getTracks()) track.stop();
    video.srcObject = null;
  };
  const look = async () => {
    // It throws while there is no picture yet.
    const codes = await detector.detect(video).catch(() => []);
    if (isOver) return;
    const text = codes[0]?.rawValue ?? "";
    if (text && text !== seen) onText(text);
    seen = text || seen;
    if (!isOver) setTimeout(look, LOOK_EVERY_MS);
  };

  video.srcObject = stream;
  await video.play().catch(() => {});
  look();
  return stop;
}

async function openCamera() {
  try {
    const video = { facingMode: "environment" };
    return await navigator.mediaDevices.getUserMedia({ video, audio: false });
  } catch (error) {
    throw new ScanError(textOf(error.name));
  }
}

function textOf(name) {
  if (name === "NotAllowedError") return "The browser was not allowed to use the camera.";
  if (name === "NotFoundError") return "There is no camera.";
  return "The camera cannot be used. Perhaps another app has it.";
}

/**
 * Show the button, or a word where the browser cannot scan.
 * @param {(text: string) => boolean} onText returns whether it was what is looked for
 */
export async function scanButton(onText) {
  const start = byId("scan-start", HTMLButtonElement);
  const place = byId("scan");
  const isPossible = await canScan();
  start.hidden = !isPossible;
  byId("no-scan").hidden = isPossible;
  if (!isPossible) return;

  let stop = () => {};
  const end = () => {
    stop();
    stop = () => {};
    place.hidden = true;
    start.disabled = false;
  };

  start.addEventListener("click", async () => {
    start.disabled = true;
    place.hidden = false;
    byId("scan-stop").focus();
    try {
      stop = await startScan(byId("scan-video", HTMLVideoElement), (text) => {
        if (onText(text)) end();
        else say("This QR code holds no deed.");
      });
      // Stopped, or left, while the person was asked about the camera.
      if (place.hidden) end();
    } catch (error) {
      end();
      start.focus();
      say(error.message);
    }
  });
  byId("scan-stop").addEventListener("click", () => {
    end();
    start.focus();
  });
  window.addEventListener("pagehide", end);
}
