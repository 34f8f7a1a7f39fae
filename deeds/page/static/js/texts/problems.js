// What a person is told for each problem that the service answers (docs/problems.md).

const LATER = "Try again in a moment.";
const TRY_AGAIN = `Nothing was changed. ${LATER}`;
const OUR_FAULT = "This page and the service do not understand each other. Reload the page.";

/** @type {Readonly<Record<string, string>>} */
export const PROBLEM_TEXTS = Object.freeze({
  bad_request: OUR_FAULT,
  body_unreadable: "The connection broke while sending. Try again.",
  wrong_media_type: OUR_FAULT,
  invalid_json: OUR_FAULT,
  invalid_request: "The service cannot take this as it is written.",
  invalid_idempotency_key: OUR_FAULT,
  total_too_large: "Together that is more than one deed can hold.",
  not_an_offer: "An offer has to ask for something.",
  weak_secret: OUR_FAULT,
  unbalanced: "The amounts do not add up.",
  duplicate_input: "The same link is in here twice.",
  duplicate_secret: "Two links have the same secret. Each needs its own.",
  unknown_item: "This service does not know this deed.",
  offer_not_open: "This offer can no longer be taken.",
  unknown_input: "This service does not know this link. Ask the sender for it again.",
  spent_input: "Already claimed. If it wasn't you, ask the sender.",
  used_secret: "This secret was used before. Choose another one.",
  item_not_found: "This service does not know this deed.",
  unknown_offer: "This service does not know this offer.",
  not_found: "There is nothing at this address.",
  method_not_allowed: OUR_FAULT,
  body_too_large: "That is too much at once. A smaller picture may help.",
  headers_too_large: OUR_FAULT,
  idempotency_key_reused: "This was sent before with other contents. Nothing was changed now.",
  too_many_failures: "Too many wrong links came from your network. Wait a minute, then try again.",
  too_many_requests: "Too many requests. Wait a minute, then try again.",
  overloaded: `The service is busy. ${TRY_AGAIN}`,
  ledger_unavailable: `The service is not ready. ${TRY_AGAIN}`,
  ledger_in_doubt: "The service is not sure yet whether it was done. We keep asking.",
  ledger_rolled_back: "The service is being repaired. Nothing was changed.",
  scheme_unavailable: `The service is being set up. ${TRY_AGAIN}`,
  internal: "The service made a mistake. Nothing that you hold is lost.",
});

/** Of a request that is not sent again. */
export const NO_ANSWER_TEXT = "No connection. Check it and try again.";

/** Errors of our own modules have messages for people; those of the browser have not. */
const OURS = /^(Amount|NotAWalletFile|RawOutput|Store|Wallet|WrongPassphrase)Error$/;

/** Return the sentence for anything that went wrong, here, at the service or in the browser. */
export function textFor(error) {
  const { code, name, message, status } = /** @type {any} */ (error ?? {});
  if (name === "NoAnswerError" && status) return `The service cannot be reached now. ${LATER}`;
  if (name === "NoAnswerError") return NO_ANSWER_TEXT;
  if (name === "ProblemError") return PROBLEM_TEXTS[code] ?? "The service refused this.";
  return (OURS.test(name) && message) || "Something went wrong in this page. Reload it.";
}
