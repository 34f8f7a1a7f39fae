// Reads a QR code with the camera, where the browser can.

const LOOK_EVERY_MS = 200;
const FORMAT = "qr_code";

/** The camera cannot be used. The message is for people. */
export class ScanError extends Error {
  name = "ScanError";
}

/**
 * Tell whether this browser reads QR codes and lets this page see by a camera.
 * @returns {Promise<boolean>}
 */
export async function canScan({ BarcodeDetector, navigator } = globalThis) {
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
export async function startScan(video, onText) {
  const stream = await openCamera();
  const detector = new globalThis.BarcodeDetector({ formats: [FORMAT] });
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
