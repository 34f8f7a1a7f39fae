// Asks the service. Every request ends in its answer, a ProblemError or a NoAnswerError.
// An answer of 200 must have the service's form: a hotel's login page answers 200 too.

import { isAmount } from "../format/amounts.js";

const TIMEOUT_MS = 30_000;
/** As many outputs as are checked at once, unless the service takes fewer. */
export const CHECKED_AT_ONCE_MAX = 256;

const STATES = new Set(["unspent", "spent", "unknown"]);

/** The service refused, with the code of a problem (docs/problems.md). */
export class ProblemError extends Error {
  name = "ProblemError";

  constructor({ code, detail, index }, status, retryAfterS) {
    super(detail ?? code);
    this.code = code;
    this.detail = detail ?? "";
    this.index = index ?? null;
    this.status = status;
    this.retryAfterS = retryAfterS;
  }
}

/** No answer came, or one that is not the service's: whatever was asked may have been done. */
export class NoAnswerError extends Error {
  name = "NoAnswerError";

  /** @param {number | null} status what somebody answered in the service's place */
  constructor(status = null) {
    super("no answer");
    this.status = status;
  }
}

/**
 * @typedef {ReturnType<typeof makeApi>} Api
 */

/**
 * Return the service's verbs.
 * @param {typeof fetch} fetch
 * @param {string} [origin] scheme, host and port; the page's own unless given
 * @param {number} [checkedMax] how many outputs one check may name
 */
export function makeApi(fetch, origin = "", checkedMax = CHECKED_AT_ONCE_MAX) {
  const ask = (path, options, read) => askOnce(fetch, origin + path, options, read);
  const post = (path, body, isRight, key) => ask(path, postOptions(body, key), readJson(isRight));
  return {
    mint: (body, key) =>
      post("/v1/mint", body, (answer) => isMintAnswer(answer, body.outputs), key),
    swap: (body, key) => post("/v1/swap", body, isSwapAnswer, key),
    item: (id) =>
      ask(
        `/v1/item/${encodeURIComponent(id)}`,
        {},
        readJson((item) => isItemAnswer(item, id)),
      ),
    /**
     * Return the QR codes of texts, as SVG.
     * @param {string[]} texts 1 to 64
     * @returns {Promise<string[]>}
     */
    qr: async (texts) =>
      (await post("/web/qr", { texts }, (answer) => isQrAnswer(answer, texts.length))).codes,
    async check(rawOutputs) {
      const states = [];
      for (let start = 0; start < rawOutputs.length; start += checkedMax) {
        const outputs = rawOutputs.slice(start, start + checkedMax);
        const isRight = (answer) => isCheckAnswer(answer, outputs.length);
        states.push(...(await post("/v1/check", { outputs }, isRight)).states);
      }
      return states;
    },
  };
}

function postOptions(body, key) {
  const headers = { "Content-Type": "application/json" };
  if (key !== undefined) headers["Idempotency-Key"] = key;
  return { method: "POST", headers, body: JSON.stringify(body), cache: "no-store" };
}

async function askOnce(fetch, url, options, read) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
  try {
    const { signal } = controller;
    const shared = { credentials: "omit", redirect: "error", referrerPolicy: "no-referrer" };
    const response = await fetch(url, { ...shared, ...options, signal });
    // The body too is read before the time is up.
    if (response.ok) return await read(response);
    throw await problemOf(response);
  } catch (error) {
    if (error instanceof ProblemError || error instanceof NoAnswerError) throw error;
    throw new NoAnswerError();
  } finally {
    clearTimeout(timer);
  }
}

/** Return what reads a JSON answer, and takes one of another form for somebody else's. */
function readJson(isRight) {
  return async (response) => {
    const answer = await response.json().catch(() => null);
    if (!isRight(answer)) throw new NoAnswerError(response.status);
    return answer;
  };
}

async function problemOf(response) {
  const problem = await response.json().catch(() => null);
  if (typeof problem?.code !== "string") return new NoAnswerError(response.status);
  return new ProblemError(problem, response.status, retryAfterS(response));
}

function retryAfterS(response) {
  const header = response.headers.get("Retry-After") ?? "";
  return /^[0-9]{1,6}$/.test(header) ? Number(header) : null;
}

function isSwapAnswer(answer) {
  return answer?.success === true;
}

/** @param {{amount: number, secret: string}[]} asked */
function isMintAnswer(answer, asked) {
  const made = answer?.outputs;
  return (
    isItemId(answer?.itemId) &&
    Array.isArray(made) &&
    made.length === asked.length &&
    asked.every(({ amount, secret }, place) => {
      const output = made[place];
      return output?.amount === amount && output.secret === secret;
    })
  );
}

function isCheckAnswer(answer, count) {
  const states = answer?.states;
  return (
    Array.isArray(states) && states.length === count && states.every((state) => STATES.has(state))
  );
}

function isQrAnswer(answer, count) {
  const codes = answer?.codes;
  return (
    Array.isArray(codes) &&
    codes.length === count &&
    codes.every((code) => typeof code === "string" && code.startsWith("<svg "))
  );
}

function isItemAnswer(answer, id) {
  const metadata = answer?.metadata ?? null;
  return (
    answer?.id === id &&
    isAmount(answer.total) &&
    (metadata === null || typeof metadata === "string")
  );
}

function isItemId(value) {
  return typeof value === "string" && /^deed_[^.]+$/.test(value);
}
