// What a person is told for each problem that the service answers (docs/problems.md).

const TRY_AGAIN = "Nothing was changed. It will work again in a moment.";
const OUR_FAULT = "The service did not understand this page. Reload the page and try again.";

/** @type {Readonly<Record<string, string>>} */
export const PROBLEM_TEXTS = Object.freeze({
  bad_request: OUR_FAULT,
  body_unreadable: "The connection broke while sending. Try again.",
  wrong_media_type: OUR_FAULT,
  invalid_json: OUR_FAULT,
  invalid_request: "The service cannot take this as it is written.",
  invalid_idempotency_key: OUR_FAULT,
  total_too_large: "The amounts add up to more than a deed can hold.",
  unbalanced: "The amounts do not add up: what goes in must come out.",
  duplicate_input: "The same units were named twice.",
  duplicate_secret: "Two parts have the same secret. Each needs one of its own.",
  unknown_item: "The service knows no deed with this id.",
  unknown_input:
    "The service knows no such units: the amount, the deed or the secret is not right.",
  spent_input: "These units were taken already. The link or secret is worth nothing now.",
  used_secret: "This secret was used for this deed before. Take a fresh one.",
  item_not_found: "There is no deed with this id.",
  not_found: "The service has nothing at this address.",
  method_not_allowed: OUR_FAULT,
  body_too_large:
    "This is more than the service takes at once. An image given as data may be the reason.",
  headers_too_large: OUR_FAULT,
  idempotency_key_reused: "This was sent before with other contents. Nothing was changed now.",
  too_many_failures:
    "Too many wrong secrets came from your network. Wait a little, then try again.",
  too_many_requests: "That was too often. Wait a little, then try again.",
  overloaded: `The service is busy. ${TRY_AGAIN}`,
  ledger_unavailable: `The service cannot reach its records. ${TRY_AGAIN}`,
  ledger_in_doubt: "The service does not know yet whether it was done. It will be asked again.",
  ledger_rolled_back:
    "The service has lost records and waits for its operator. Nothing was changed.",
  scheme_unavailable: `A part of the service is being set up. ${TRY_AGAIN}`,
  internal: "The service made a mistake. Nothing that you hold is lost.",
});

export const NO_ANSWER_TEXT =
  "There was no answer. What you hold is safe, and what was begun will be finished.";

/**
 * Return the sentence for anything that went wrong.
 * @param {unknown} error an error of wallet/api.js, of another module of the page, or any other
 * @returns {string}
 */
export function textFor(error) {
  const { code, name, message } = /** @type {any} */ (error ?? {});
  if (name === "NoAnswerError") return NO_ANSWER_TEXT;
  if (name === "ProblemError") return PROBLEM_TEXTS[code] ?? "The service refused this.";
  const isOurs = OUR_ERRORS.has(name) && message;
  return isOurs ? message : "Something went wrong in this page. Reload it.";
}

/** Errors of our own modules have messages for people; those of the browser have not. */
const OUR_ERRORS = new Set([
  "AmountError",
  "NotAWalletFileError",
  "RawOutputError",
  "StoreError",
  "WalletError",
  "WrongPassphraseError",
]);
