// A plain word on how hard a secret is to guess. The service hashes what people make up slowly and
// refuses who guesses often, so this asks for less than a password store would.

const GOOD_BITS = 60;
const FAIR_BITS = 40;

const TEXTS = {
  weak: "Easy to guess. Anyone who guesses it can take the units.",
  fair: "Could be guessed with patience. Longer is better.",
  good: "Hard to guess.",
  strong: "Made by a machine: nobody will guess it.",
};

/**
 * How many characters a guesser has to try for each kind that a secret has.
 * @type {[RegExp, number][]}
 */
const KINDS = [
  [/[a-z]/, 26],
  [/[A-Z]/, 26],
  [/[0-9]/, 10],
  [/[ -/:-@[-`{-~]/, 33],
  [/[^\0-\x7f]/u, 100],
];

const COMMON =
  /^(?:pass ?word|passwort|secret|geheim|qwert[yz]|azerty|letmein|welcome|iloveyou|admin|test|deed|dragon|monkey|hello)/;

/**
 * Return how hard the secret is to guess.
 * @param {string} secret
 * @param {boolean} isStrong whether a machine made it: see format/strong_secret.js
 * @returns {{level: "weak" | "fair" | "good" | "strong", text: string}}
 */
export function hintOf(secret, isStrong) {
  const level = isStrong ? "strong" : levelOf(bitsOf(secret));
  return { level, text: TEXTS[level] };
}

function levelOf(bits) {
  if (bits >= GOOD_BITS) return "good";
  return bits >= FAIR_BITS ? "fair" : "weak";
}

/** Return about how many bits a guesser has to go through who knows how people choose. */
function bitsOf(secret) {
  const rest = secret.toLowerCase().replace(COMMON, "");
  const alphabet = KINDS.reduce((sum, [kind, size]) => sum + (kind.test(secret) ? size : 0), 0);
  return alphabet ? surprisesCount([...rest]) * Math.log2(alphabet) : 0;
}

/** Count characters that neither repeat nor go on from the two before them, as in aaa and 123. */
function surprisesCount(characters) {
  const codes = characters.map((character) => character.codePointAt(0) ?? 0);
  const surprises = codes.filter(
    (code, place) => place < 2 || code - codes[place - 1] !== codes[place - 1] - codes[place - 2],
  );
  return Math.min(surprises.length, 2 * new Set(characters).size);
}
