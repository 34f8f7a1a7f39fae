// The field for a picture: a link to one, or a file of the person's own, which is made small enough
// for a deed to hold it. Also the contract's advice (2.3): 320 to 1080 pixels wide, from 1.91:1 to
// 4:5. It is advice: nothing is refused for it.

import { textFor } from "../../texts/problems.js";
import { byId } from "../../ui/dom.js";

// While a person types, each letter makes another address: it is loaded only after a pause.
const REST_MS = 400;

const STORED = /^(?:ipfs|ar):\S+$/i;
const DATA = /^data:image\/[^,\s]+,[A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*$/i;
// What URL() leaves as it is and RFC 3986 does not, and a % that escapes nothing.
const UNFIT = /[^A-Za-z0-9\-._~!$&'()*+,;=:@%/?]|%(?![0-9A-Fa-f]{2})/g;
const WRONG = "An image link starts with https://, http://, ipfs: or ar:. Or upload a picture.";

const WIDTH_MIN = 320;
const WIDTH_MAX = 1080;

const URI_LENGTH_MAX = 48 * 1024;
// Base64 has four characters for three bytes, after "data:image/webp;base64,".
const BYTES_MAX = Math.floor((URI_LENGTH_MAX - 32) / 4) * 3;
const FILE_BYTES_MAX = 64 * 1024 * 1024;

// The best first.
const WIDTHS = [1080, 800, 640, 480, 320, 240, 160];
const QUALITIES = [0.85, 0.7, 0.5];
// The tallest picture that is advised: 4 to 5.
const HEIGHT_PER_WIDTH = 1.25;

/**
 * Make the field work.
 * @param {HTMLImageElement} preview where the picture is shown
 * @param {() => void} onChange is called when there is another picture to preview
 */
export function imageField(preview, onChange) {
  const field = byId("image", HTMLInputElement);
  const upload = byId("upload", HTMLInputElement);
  const uploadButton = byId("upload-button", HTMLButtonElement);
  const removeButton = byId("upload-remove", HTMLButtonElement);
  const advice = byId("image-advice");
  let timer = 0;
  let uploaded = "";
  let address = "";
  let settled = Promise.resolve();

  const tell = (text) => {
    advice.textContent = text;
  };

  function look() {
    clearTimeout(timer);
    const now = uploaded || readAddress(field.value);
    if (now === address) return;
    address = now;
    tell(now === null ? WRONG : "");
    if (now !== null) field.removeAttribute("aria-invalid");
    onChange();
  }

  function setUploaded(uri) {
    uploaded = uri;
    byId("image-link").hidden = Boolean(uri);
    byId("uploaded").hidden = !uri;
    look();
  }

  async function take() {
    const [file] = upload.files ?? [];
    // The same file may be chosen again.
    upload.value = "";
    if (!file) return;
    tell("Making it small…");
    try {
      const uri = await shrinkPicture(file);
      const isWaited = document.activeElement === uploadButton;
      tell("");
      setUploaded(uri);
      if (isWaited) removeButton.focus();
    } catch (error) {
      tell(error instanceof PictureError ? error.message : textFor(error));
    }
  }

  uploadButton.addEventListener("click", () => upload.click());
  upload.addEventListener("change", () => {
    settled = take();
  });
  removeButton.addEventListener("click", () => {
    setUploaded("");
    uploadButton.focus();
  });
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, REST_MS);
  });
  field.addEventListener("change", look);
  preview.addEventListener("load", () => {
    if (address) tell(adviceFor(preview.naturalWidth, preview.naturalHeight));
  });
  preview.addEventListener("error", () => {
    if (address) tell("There is no picture at this address.");
  });

  return {
    /** Return the address that is previewed, "" for no picture, or null for an invalid link. */
    address: () => address,

    /** Return an uploaded picture, or "". */
    uploaded: () => uploaded,

    /** Read what is typed or was chosen by now, and say if it is invalid. */
    async read() {
      await settled;
      look();
      if (address !== null) return;
      tell(WRONG);
      field.setAttribute("aria-invalid", "true");
    },

    setUploaded,
  };
}

/** Return the address as the service takes it (RFC 3986): escaped, and without a fragment. */
function readAddress(typed) {
  const text = typed.trim();
  if (!text || STORED.test(text) || DATA.test(text)) return text;
  if (!/^https?:\/\//i.test(text)) return null;
  try {
    const { origin, pathname, search } = new URL(text);
    return origin + `${pathname}${search}`.replace(UNFIT, encodeURIComponent);
  } catch {
    return null;
  }
}

/**
 * Return what is better changed about an image of this size in pixels, or nothing.
 * @param {number} width
 * @param {number} height
 */
export function adviceFor(width, height) {
  if (!width || !height) return "This image tells no size; it may look different elsewhere.";
  const advice = [];
  if (width < WIDTH_MIN) advice.push(`It is ${width} pixels wide: from 320 on it looks sharp.`);
  if (width > WIDTH_MAX) advice.push(`It is ${width} pixels wide: 1080 are enough.`);
  // In whole numbers, so that both ends of the range belong to it exactly.
  if (100 * width > 191 * height) advice.push("It is very wide: at most 1.91 to 1 is best.");
  if (5 * width < 4 * height) advice.push("It is very tall: at most 4 to 5 is best.");
  return advice.join(" ");
}

/** A file cannot be the picture of a deed. The message is for people. */
export class PictureError extends Error {
  name = "PictureError";
}

/**
 * Return a picture as a data: URI of at most 48 KiB: WebP, or PNG or JPEG in a browser that writes
 * no WebP.
 * @param {Blob} file
 * @returns {Promise<string>}
 * @throws {PictureError}
 */
export async function shrinkPicture(file) {
  const bitmap = await decode(file);
  try {
    for (const width of WIDTHS) {
      const canvas = draw(bitmap, width);
      for (const quality of QUALITIES) {
        const blob = await encode(canvas, quality);
        if (blob && blob.size <= BYTES_MAX) return await uriOf(blob);
      }
    }
  } finally {
    bitmap.close();
  }
  throw new PictureError("This picture cannot be made small enough. Choose another one.");
}

async function decode(file) {
  if (file.size > FILE_BYTES_MAX) throw new PictureError("This file is too large: at most 64 MB.");
  try {
    return await createImageBitmap(file, { imageOrientation: "from-image" });
  } catch {
    throw new PictureError("This file is not a picture. Choose a JPEG, PNG or WebP file.");
  }
}

function draw(bitmap, width) {
  const { width: from, height } = bitmap;
  const scale = Math.min(1, width / from, (width * HEIGHT_PER_WIDTH) / height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(from * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** A browser that does not write WebP writes PNG, which fits only small drawings. */
async function encode(canvas, quality) {
  const blob = await blobOf(canvas, "image/webp", quality);
  if (!blob || blob.type === "image/webp" || isTransparent(canvas)) return blob;
  return blobOf(canvas, "image/jpeg", quality);
}

function blobOf(canvas, type, quality) {
  return new Promise((resolve) => canvas.toBlob(resolve, type, quality));
}

function isTransparent(canvas) {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value, place) => place % 4 === 3 && value < 255);
}

function uriOf(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(/** @type {string} */ (reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}
