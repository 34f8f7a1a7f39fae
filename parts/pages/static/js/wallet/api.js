// Requests to the service. Each ends in its answer, a ProblemError or a NoAnswerError.
// An answer with status 200 must have the service's form, because a hotel's login page
// answers 200 too.

import { isAmount } from "../format/amounts.js";

const TIMEOUT_MS = 30_000;
/** Default maximum number of inputs or outputs in a request. */
export const AT_ONCE_MAX = 256;

/** Clocks that differ by less count as right. */
export const CLOCK_OFF_MS = 120_000;
const TOKEN_CODES = new Set(["mint_token_required", "mint_token_wrong"]);

const isState = (state) => ["unspent", "spent", "unknown"].includes(state);

/** The service refused, with the code of a problem (docs/problems.md). */
export class ProblemError extends Error {
  name = "ProblemError";

  /**
   * @param {{code: string, detail?: string, isFinal?: unknown}} problem `isFinal: true`
   *   means that the request can never be carried out
   * @param {number} status
   * @param {number | null} retryAfterS
   */
  constructor({ code, detail = code, isFinal }, status, retryAfterS) {
    super(detail);
    this.code = code;
    this.isFinal = isFinal === true;
    this.status = status;
    this.retryAfterS = retryAfterS;
  }
}

/** No valid answer arrived from the service. The request may have been carried out. */
export class NoAnswerError extends Error {
  name = "NoAnswerError";

  /** @param {number | null} status of an answer that was not the service's */
  constructor(status = null) {
    super("no answer");
    this.status = status;
  }
}

/**
 * Return functions for the service's endpoints.
 * @typedef {{itemId: string, amount: number}} Part
 * @typedef {{
 *   offerId: string, state: "open" | "completed" | "void" | "expired", gives: Part[], wants: Part[],
 *   expiresAt: number,
 * }} Offer `gives` and `wants` are its maker's; `expiresAt` is in milliseconds
 * @typedef {{amount: number, state: "unspent" | "spent"}} Found
 * @typedef {ReturnType<typeof makeApi>} Api
 * @param {typeof fetch} fetch
 * @param {number} arrayMax maximum number of inputs or outputs in a request
 * @param {{readToken: () => string | null, refuseToken: (token: string | null) => void}} tokens
 *   keeps the token for mints, see mint_token.js
 */
export function makeApi(fetch, arrayMax = AT_ONCE_MAX, tokens) {
  const clock = makeServiceClock();
  const get = (path, isValid, options) => request(fetch, path, options, isValid, null);
  const post = (path, body, isValid, ...credentials) =>
    request(fetch, path, postOptions(body, ...credentials), isValid, clock.note);
  /** Return one valid answer for each element of `asked`. */
  const postEach = async (path, body, asked, name, isValid) => {
    const areValid = (answer) => areAll(answer?.[name], asked, isValid);
    return (await post(path, body, areValid))[name];
  };
  return {
    async mint(body, key) {
      const token = tokens.readToken();
      const isValid = (answer) => isMintAnswer(answer, body.outputs);
      return post("/v1/mint", body, isValid, key, token).catch((error) => {
        if (TOKEN_CODES.has(error.code)) tokens.refuseToken(token);
        throw error;
      });
    },
    /**
     * Return whether the service accepts a token. It checks the token before the
     * outputs, of which this mint has none.
     */
    async takesToken(token) {
      try {
        await post("/v1/mint", { outputs: [] }, () => false, undefined, token);
      } catch (error) {
        if (TOKEN_CODES.has(error.code)) return false;
        if (error.code !== "invalid_request") throw error;
      }
      return true;
    },
    swap: (body, key) => post("/v1/swap", body, isSuccess, key),
    makeOffer: (body, key) => post("/v1/offers", body, isOffer, key).then(offerFrom),
    offer(id) {
      const isValid = (offer) => offer?.offerId === id && isOffer(offer);
      return get(`/v1/offers/${id}`, isValid, { cache: "no-store" }).then(offerFrom);
    },
    complete: (id, body, key) =>
      post(`/v1/offers/${id}/complete`, body, isSuccess, key),
    item(id) {
      const isValid = (item) => item?.id === id && isItem(item);
      return get(`/v1/item/${encodeURIComponent(id)}`, isValid);
    },
    /** Return the QR codes of 1 to 64 texts, as SVG. @returns {Promise<string[]>} */
    qr: (texts) => postEach("/web/qr", { texts }, texts, "codes", isCode),
    /** Return the service's time in milliseconds, or null if it is unknown. */
    time: clock.now,
    /**
     * Return the service's time. If it is unknown, first send a request that changes
     * nothing.
     */
    async askTime() {
      if (clock.now() === null) await ask(() => this.qr(["time"]));
      return clock.now();
    },
    async check(rawOutputs) {
      const states = [];
      for (const outputs of batchesOf(rawOutputs, Math.min(arrayMax, AT_ONCE_MAX))) {
        const answers = postEach("/v1/check", { outputs }, outputs, "states", isState);
        states.push(...(await answers));
      }
      return states;
    },
    /**
     * Return the record under each of an item's strong secrets, or null if there is
     * none.
     * @param {string[]} secrets at most as many as the service takes in a request
     * @returns {Promise<(Found | null)[]>}
     */
    find: (itemId, secrets) =>
      postEach("/v1/find", { itemId, secrets }, secrets, "outputs", isFound),
    /**
     * Return whether an offer has ever named each of an item's strong secrets as an
     * output, whatever became of the offer; null if the service has no offers.
     * @param {string[]} secrets at most as many as the service takes in a request
     * @returns {Promise<boolean[] | null>}
     */
    findOffered(itemId, secrets) {
      const body = { itemId, secrets };
      const answers = postEach("/v1/offers/find", body, secrets, "offered", isBoolean);
      return answers.catch((error) => {
        if (error.code === "not_found") return null;
        throw error;
      });
    },
  };
}

/**
 * Send the request of an operation, or query our own offer if it is open.
 * @param {Api} api
 */
export function sendOperation(api, { kind, key, state, body, offerId }) {
  if (state === "open") return api.offer(offerId);
  if (kind === "mint") return api.mint(body, key);
  if (isMaking({ kind })) return api.makeOffer(body, key);
  return kind === "complete" ? api.complete(offerId, body, key) : api.swap(body, key);
}

/** Return whether an operation makes an offer. */
export const isMaking = ({ kind }) => kind === "ask" || kind === "trade";

const isProblem = (error) =>
  error instanceof ProblemError || error instanceof NoAnswerError;

/**
 * Return the answer, or the problem that the service or the network has with the
 * request.
 * @returns {Promise<{answer?: any, problem?: any}>}
 */
export async function ask(question) {
  try {
    return { answer: await question() };
  } catch (problem) {
    if (isProblem(problem)) return { problem };
    throw problem;
  }
}

function postOptions(body, key, token) {
  const headers = { "Content-Type": "application/json" };
  if (key !== undefined) headers["Idempotency-Key"] = key;
  if (token) headers.Authorization = `Bearer ${token}`;
  return { method: "POST", headers, body: JSON.stringify(body), cache: "no-store" };
}

/**
 * Return a clock of the service's time. It is set by answers to POST, which no cache
 * holds. The time counts as known while the two clocks of this device agree on how long
 * ago that was: a person may set the wall clock, and the monotonic clock may stop while
 * the device sleeps.
 */
function makeServiceClock() {
  let known = { at: NaN, wall: 0, steady: 0 };
  return {
    note(/** @type {Response} */ response) {
      const at = Date.parse(response.headers.get("Date") ?? "");
      if (at) known = { at, wall: Date.now(), steady: performance.now() };
    },
    now() {
      const since = performance.now() - known.steady;
      const isSure = Math.abs(Date.now() - known.wall - since) < CLOCK_OFF_MS;
      return isSure && known.at ? known.at + since : null;
    },
  };
}

async function request(fetch, url, options, isValid, note) {
  try {
    const response = await fetch(url, {
      credentials: "omit",
      redirect: "error",
      referrerPolicy: "no-referrer",
      // The timeout includes the body.
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...options,
    });
    const answer = await response.json().catch(() => null);
    const problem = response.ok ? null : problemOf(response, answer);
    // An answer of another form is not the service's.
    if (!problem && !isValid(answer)) throw new NoAnswerError(response.status);
    if (!(problem instanceof NoAnswerError)) note?.(response);
    if (problem) throw problem;
    return answer;
  } catch (error) {
    throw isProblem(error) ? error : new NoAnswerError();
  }
}

function problemOf(response, problem) {
  // A proxy that answers this has not passed the request on.
  if (response.status === 413)
    return new ProblemError({ code: "body_too_large", isFinal: true }, 413, null);
  // Other servers at this address may answer with codes, too.
  const type = response.headers.get("Content-Type") ?? "";
  const isOurs = type.startsWith("application/problem+json");
  if (!isOurs || typeof problem?.code !== "string")
    return new NoAnswerError(response.status);
  return new ProblemError(problem, response.status, retryAfterS(response));
}

function retryAfterS(response) {
  const header = response.headers.get("Retry-After") ?? "";
  return /^[0-9]{1,6}$/.test(header) ? Number(header) : null;
}

/**
 * Return whether there is one answer for each element of `asked`, and all are valid.
 */
function areAll(answers, asked, isValid) {
  return (
    Array.isArray(answers) && answers.length === asked.length && answers.every(isValid)
  );
}

const isCode = (code) => typeof code === "string" && code.startsWith("<svg ");
const isBoolean = (value) => typeof value === "boolean";
const isSuccess = (answer) => answer?.success === true;

function isMintAnswer(answer, asked) {
  const isAsked = (output, place) =>
    output?.amount === asked[place].amount && output.secret === asked[place].secret;
  return isItemId(answer?.itemId) && areAll(answer.outputs, asked, isAsked);
}

/** Return whether these are valid fields of an item in the registry. */
export function isItem({ id, total, metadata = null }) {
  return (
    isItemId(id) &&
    isAmount(total) &&
    (metadata === null || typeof metadata === "string")
  );
}

/** Return whether a value is an offer's id, which becomes part of addresses. */
export function isOfferId(value) {
  return typeof value === "string" && /^offer_[0-9a-z]{26}$/.test(value);
}

function isOffer(answer) {
  const { offerId, state, gives, wants, expiresAt } = answer ?? {};
  return (
    isOfferId(offerId) &&
    ["open", "completed", "void", "expired"].includes(state) &&
    [gives, wants].every((parts) => areAll(parts, parts, isPart)) &&
    Date.parse(expiresAt) > 0
  );
}

const isFound = (found) =>
  found === null ||
  (isAmount(found?.amount) && ["unspent", "spent"].includes(found.state));

const isPart = (part) => isItemId(part?.itemId) && isAmount(part.amount);

/** @returns {Offer} */
const offerFrom = (answer) => ({ ...answer, expiresAt: Date.parse(answer.expiresAt) });

const isItemId = (value) => typeof value === "string" && /^deed_[^.]+$/.test(value);

/** Return all elements in batches of at most `countMax`. */
export function batchesOf(all, countMax) {
  return Array.from({ length: Math.ceil(all.length / countMax) }, (_, place) =>
    all.slice(place * countMax, (place + 1) * countMax),
  );
}
