// QR codes of claim links: drawn by the service, many in one request, and kept in the wallet, so
// that they are there without a network.

import { claimLink } from "../format/claim_link.js";
import { make } from "./dom.js";

// What the service draws in one request: deeds/page/qr_codes.py. A link has no other letters than
// ASCII, so its length is that in bytes.
const CODES_AT_ONCE_MAX = 64;
const BYTES_AT_ONCE_MAX = 12_288;
/** How often a busy service is asked for the same codes. */
const TRIES_MAX = 20;

/**
 * @typedef {import("../wallet/records.js").OutputRecord} OutputRecord
 * @typedef {{
 *   wallet: Pick<import("../wallet/wallet.js").Wallet, "codes" | "keepCodes">,
 *   api: Pick<import("../wallet/api.js").Api, "qr">, unit?: string,
 * }} CodeTools `unit` is the issuer's word, which links carry
 */

/** Return the link that hands over an output, as it is copied, drawn and printed. */
export const linkOf = (output, unit) => claimLink(location.origin, output, { unit });

const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/**
 * Return the codes of outputs as SVG texts, by the keys of the outputs. Those that came before an
 * error are not asked for again. `onProgress` says how many are there.
 * @returns {Promise<Map<string, string>>}
 */
export async function codesOf(outputs, /** @type {CodeTools} */ tools, options = {}) {
  const { wallet, api, unit } = tools;
  const { onProgress = () => {}, wait = sleep, link = (output) => linkOf(output, unit) } = options;
  const codes = await wallet.codes(outputs.map(({ key }) => key));
  const missing = outputs.filter(({ key }) => !codes.has(key));
  const texts = missing.map(link);
  const size = sizeOfBatches(texts);
  onProgress(codes.size);
  for (let start = 0; start < texts.length; start += size) {
    const svgs = await patiently(() => api.qr(texts.slice(start, start + size)), wait);
    const drawn = svgs.map((svg, place) => ({ key: missing[start + place].key, svg }));
    // A device without room for them shows them all the same.
    await wallet.keepCodes(drawn).catch(() => {});
    for (const { key, svg } of drawn) codes.set(key, svg);
    onProgress(codes.size);
  }
  return codes;
}

/** Return the picture of a code. A picture runs no scripts, whatever the SVG holds. */
export function codeImage(svg = "", alt = "") {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const onload = () => URL.revokeObjectURL(url);
  return make("img", { src: url, alt, width: "256", height: "256", onload, onerror: onload });
}

/** Return how many texts the service draws at once, be they all as long as the longest. */
function sizeOfBatches(texts) {
  const longest = texts.reduce((most, { length }) => Math.max(most, length), 1);
  return Math.min(CODES_AT_ONCE_MAX, Math.floor(BYTES_AT_ONCE_MAX / longest));
}

/** Ask again after as long as the service says, while it says that it is busy. */
async function patiently(ask, wait) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (![429, 503].includes(error.status) || tries === TRIES_MAX) throw error;
      await wait(error.retryAfterS ?? 1);
    }
  }
}
