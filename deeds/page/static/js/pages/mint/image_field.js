// The field for the address of a picture: what is wrong with it, and the contract's advice (2.3):
// 320 to 1080 pixels wide, from 1.91:1 to 4:5. It is advice: nothing is refused for it.

import { byId } from "../../ui/dom.js";

// While a person types, each letter makes another address: it is loaded only after a pause.
const REST_MS = 400;

const STORED = /^(?:ipfs|ar):\S+$/i;
const DATA = /^data:image\/[^,\s]+,[A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*$/i;
// What URL() leaves as it is and RFC 3986 does not, and a % that escapes nothing.
const UNFIT = /[^A-Za-z0-9\-._~!$&'()*+,;=:@%/?]|%(?![0-9A-Fa-f]{2})/g;
const WRONG = "An address starts with https://, http://, ipfs: or ar:, or is data:image/…";

const WIDTH_MIN = 320;
const WIDTH_MAX = 1080;

/**
 * Make the field work.
 * @param {HTMLImageElement} picture where it is previewed
 * @param {() => void} onChange is called when there is another address to preview
 */
export function imageField(picture, onChange) {
  const field = byId("image", HTMLInputElement);
  const advice = byId("image-advice");
  let timer = 0;
  let address = "";

  function look() {
    clearTimeout(timer);
    const now = readAddress(field.value);
    if (now === address) return;
    address = now;
    tell(address === null ? WRONG : STORED.test(address) ? "Browsers cannot show it here." : "");
    if (address !== null) field.removeAttribute("aria-invalid");
    onChange();
  }

  function tell(text) {
    advice.textContent = text;
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, REST_MS);
  });
  field.addEventListener("change", look);
  picture.addEventListener("load", () => {
    if (address) tell(adviceFor(picture.naturalWidth, picture.naturalHeight) ?? "");
  });
  picture.addEventListener("error", () => {
    if (address) tell("There is no picture at this address.");
  });

  return {
    /** Return the address, "" if the field is empty, or null if it is invalid. */
    read() {
      look();
      return address;
    },

    /** Say what is wrong with it. */
    refuse(text = WRONG) {
      tell(text);
      field.setAttribute("aria-invalid", "true");
    },
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
 * Return what is better changed about an image of this size in pixels, or null if nothing is.
 * @param {number} width
 * @param {number} height
 * @returns {string | null}
 */
export function adviceFor(width, height) {
  if (!width || !height) return "This image tells no size; it may look different elsewhere.";
  const advice = [...widthAdvice(width), ...ratioAdvice(width, height)];
  return advice.length ? advice.join(" ") : null;
}

function widthAdvice(width) {
  if (width < WIDTH_MIN)
    return [`It is ${width} pixels wide: from ${WIDTH_MIN} on it looks sharp.`];
  if (width > WIDTH_MAX) return [`It is ${width} pixels wide: ${WIDTH_MAX} are enough.`];
  return [];
}

/** Compared in whole numbers, so that both ends of the range belong to it exactly. */
function ratioAdvice(width, height) {
  if (100 * width > 191 * height) return ["It is very wide: at most 1.91 to 1 is best."];
  if (5 * width < 4 * height) return ["It is very tall: at most 4 to 5 is best."];
  return [];
}
