// QR codes of claim links: drawn by the service, many in one request, and kept in the wallet, so that
// they are there without a network.

import { claimLink } from "../format/claim_link.js";
import { make } from "./dom.js";

export const CODES_AT_ONCE_MAX = 64;

/** How often a busy service is asked again for the same codes, and how long at least it is left alone. */
const TRIES_MAX = 20;
const WAIT_S = 1;

/**
 * @typedef {import("../wallet/records.js").OutputRecord} OutputRecord
 * @typedef {object} CodeTools
 * @property {{code: (key: string, svg?: string) => Promise<string | undefined>}} wallet
 * @property {{qr: (texts: string[]) => Promise<string[]>}} api
 * @property {string} [unit] the issuer's word, which links carry
 */

/** Return the link that hands over an output, as it is copied, drawn and printed. */
export function linkOf(output, unit) {
  return claimLink(location.origin, unit ? { ...output, unit } : output);
}

/**
 * Return the codes of outputs as SVG texts, by the keys of the outputs.
 * @param {Pick<OutputRecord, "key" | "itemId" | "amount" | "secret">[]} outputs
 * @param {CodeTools} tools
 * @param {object} [options]
 * @param {(count: number) => void} [options.onProgress] says how many are there
 * @param {(seconds: number) => Promise<void>} [options.wait]
 * @param {(output: any) => string} [options.link]
 * @returns {Promise<Map<string, string>>}
 * @throws {import("../wallet/api.js").ProblemError | import("../wallet/api.js").NoAnswerError}
 *   those that came before it are kept
 */
export async function codesOf(
  outputs,
  { wallet, api, unit },
  { onProgress = () => {}, wait = waitSeconds, link = (output) => linkOf(output, unit) } = {},
) {
  const codes = new Map();
  const missing = [];
  for (const output of outputs) {
    const kept = await wallet.code(output.key);
    if (kept) codes.set(output.key, kept);
    else missing.push(output);
  }
  onProgress(codes.size);
  for (let start = 0; start < missing.length; start += CODES_AT_ONCE_MAX) {
    const batch = missing.slice(start, start + CODES_AT_ONCE_MAX);
    const drawn = await patiently(() => api.qr(batch.map(link)), wait);
    for (const [place, { key }] of batch.entries()) {
      codes.set(key, drawn[place]);
      await wallet.code(key, drawn[place]);
    }
    onProgress(codes.size);
  }
  return codes;
}

/**
 * Return the picture of a code. A picture runs no scripts, whatever the SVG holds.
 * @param {string} svg
 * @param {string} alt
 */
export function codeImage(svg, alt) {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  const image = make("img", { src: url, alt, width: "256", height: "256" });
  for (const end of ["load", "error"]) {
    image.addEventListener(end, () => URL.revokeObjectURL(url), { once: true });
  }
  return image;
}

/** Ask again after as long as the service says, while it says that it is busy. */
async function patiently(ask, wait) {
  for (let tries = 1; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      if (error.status !== 503 || tries === TRIES_MAX) throw error;
      await wait(error.retryAfterS ?? WAIT_S);
    }
  }
}

function waitSeconds(seconds) {
  return new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
}
