// The field for a picture: a link to one, or the person's own file, which is made small
// enough for a deed.

import { gettext } from "../../format/gettext.js";
import { textFor } from "../../texts.js";
import { byId } from "../../ui/dom.js";
import { showError } from "../../ui/forms.js";
import { WalletError } from "../../wallet/records.js";

// Each letter typed makes another address, so load it only after a pause.
const REST_MS = 400;

const STORED = /^(?:ipfs|ar):\S+$/i;
const DATA = /^data:image\/[^,\s]+,[A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*$/i;
// Characters that URL() keeps and RFC 3986 does not allow, and a % that escapes
// nothing.
const UNFIT = /[^A-Za-z0-9\-._~!$&'()*+,;=:@%/?]|%(?![0-9A-Fa-f]{2})/g;
const WRONG = gettext(
  "A link to a picture starts with https://, http://, ipfs: or ar:. Or upload one.",
);

const URI_LENGTH_MAX = 48 * 1024;
const FILE_BYTES_MAX = 64 * 1024 * 1024;

// The best first.
const WIDTHS = [1080, 800, 640, 480, 320, 240, 160];
const QUALITIES = [0.85, 0.7, 0.5];
// The tallest format that we advise is 4:5.
const HEIGHT_PER_WIDTH = 1.25;

/** Set up the field. `onChange` is called when another picture is to be previewed. */
export function imageField(/** @type {HTMLElement} */ preview, onChange) {
  const field = byId("image", HTMLInputElement);
  const upload = byId("upload", HTMLInputElement);
  const uploadButton = byId("upload-button");
  const removeButton = byId("upload-remove");
  let timer = 0;
  let uploaded = "";
  let address = "";
  let settled = Promise.resolve();

  const tell = (text) => (byId("image-hint").textContent = text);

  function look() {
    clearTimeout(timer);
    const now = uploaded || readAddress(field.value);
    if (now === null) showError(field, WRONG);
    if (now === address) return;
    address = now;
    tell("");
    onChange();
  }

  function setUploaded(uri) {
    uploaded = uri;
    byId("uploaded").hidden = !uri;
    byId("uploaded-image").setAttribute("src", uri);
    showError(field, "");
    look();
  }

  async function take() {
    const [file] = upload.files ?? [];
    // Reset, so that the same file can be chosen again.
    upload.value = "";
    if (!file) return;
    tell(gettext("Resizing…"));
    try {
      const uri = await shrinkPicture(file);
      const isWaited = document.activeElement === uploadButton;
      tell("");
      setUploaded(uri);
      if (isWaited) removeButton.focus();
    } catch (error) {
      tell(textFor(error));
    }
  }

  uploadButton.onclick = () => upload.click();
  upload.onchange = () => {
    settled = take();
  };
  removeButton.onclick = () => {
    setUploaded("");
    uploadButton.focus();
  };
  field.oninput = () => {
    clearTimeout(timer);
    timer = setTimeout(look, REST_MS);
  };
  field.onchange = look;
  preview.addEventListener("error", () => {
    if (address) tell(gettext("There is no picture at this address."));
  });

  return {
    /**
     * Return the address that is previewed, "" for no picture, or null for an invalid
     * link.
     */
    address: () => address,

    uploaded: () => uploaded,

    /** Read the typed or chosen picture, and show an error if it is invalid. */
    async read() {
      await settled;
      look();
    },

    setUploaded,
  };
}

/**
 * Return the address as the service accepts it (RFC 3986), escaped and without a
 * fragment, or null if it is invalid.
 */
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

/** Return a picture as a data: URI of at most 48 KiB. @throws {WalletError} */
async function shrinkPicture(file) {
  const bitmap = await decode(file);
  for (const width of WIDTHS) {
    const canvas = draw(bitmap, width);
    for (const quality of QUALITIES) {
      const uri = canvas.toDataURL("image/jpeg", quality);
      if (uri.length <= URI_LENGTH_MAX) return uri;
    }
  }
  throw refusal(
    gettext("This picture can't be made small enough. Choose another one."),
  );
}

async function decode(file) {
  if (file.size > FILE_BYTES_MAX)
    throw refusal(gettext("This file is too large: at most 64 MB."));
  try {
    return await createImageBitmap(file, { imageOrientation: "from-image" });
  } catch {
    throw refusal(
      gettext("This file is not a picture. Choose a JPEG, PNG or WebP file."),
    );
  }
}

const refusal = (message) => new WalletError("no_picture", message);

function draw(bitmap, width) {
  const { width: from, height } = bitmap;
  const scale = Math.min(1, width / from, (width * HEIGHT_PER_WIDTH) / height);
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(from * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.imageSmoothingQuality = "high";
  // JPEG has no transparency, so fill the background. Few apps show other formats in
  // link previews.
  context.fillStyle = "white";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas;
}
