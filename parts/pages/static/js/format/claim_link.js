// Claim links, `/claim/<item id>#+<amount>.<secret>`, and texts that hold links or raw
// outputs. The secret is in the fragment alone, which no browser sends to a server. All
// but letters and digits of it is escaped, so that what others have put behind a link
// is never taken for a part of it.

import { gettext } from "./gettext.js";
import { isUnit } from "./amounts.js";
import {
  isStrongSecret,
  parseRawOutput,
  RawOutputError,
  SECRET_LENGTH_MAX,
} from "./raw_output.js";

/**
 * @typedef {import("./raw_output.js").RawOutput} RawOutput
 * @typedef {{output: RawOutput, unit: string, said?: number, host: string, address: string}} ReadLink
 *   `said` is the number that it says it has, which proves nothing; `host` is the one that the
 *   text names, and `address` the same link as it is opened there; both are empty where it names none
 */

const CUT_TEXT = gettext("This link is cut off. Ask for it again.");
const CAPITALS_TEXT = gettext(
  "This link was changed to capital letters. Ask for it again.",
);
const NOTHING_TEXT = gettext("There is no claim link in this text.");
const NO_ITEM_TEXT = gettext(
  "This text has no link to a deed. Paste one, or the address of a deed's page.",
);
const TWO_ITEMS_TEXT = gettext("This text has links to two deeds. Paste one link.");

/**
 * Of what stands before the item id, and of what follows it: no service takes longer
 * addresses.
 */
const PART_LENGTH_MAX = 4200;

// Characters that are not seen, which apps put into long words.
const UNSEEN =
  "\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff";
const UNSEEN_ONES = new RegExp(`[${UNSEEN}]`, "g");
// What a mail program, or a person, breaks a link with: line ends, and signs of a
// quotation.
const GAPS = new RegExp(`[\\s>=${UNSEEN}]+`, "g");
const GAP = `[\\s>=${UNSEEN}]{0,24}`;
const BASE32 = "[0-9a-hjkmnp-tv-z]";
const UNDERSCORE = "(?:\\\\?_|%5[Ff])";
const DOT = "\\\\?\\.";
const ITEM_ID = `${loose("deed")}${UNDERSCORE}${GAP}(?:${BASE32}${GAP}){25}${BASE32}`;
const AMOUNT = `[1-9](?:${GAP}[0-9]){0,15}${GAP}${DOT}`;
// A link that is a part of another one is escaped, once or twice.
const SLASH = "(?:\\\\?/|%(?:25){0,2}2[Ff])";
const HASH = "(?:\\\\?#|%(?:25){0,2}23|&num;|&#35;)";
const PLUS = "(?:\\\\?\\+|%(?:25){0,2}2[Bb]|&plus;|&#43;)";
const BLANK = "(?:[ \\u00a0]|%(?:25){0,2}20)";
const PAGE = `${loose("claim")}${SLASH}${GAP}(?<page>${ITEM_ID})`;
// What starts here is longer than a secret can be, so it is never a part of one. Some
// messengers take the plus for a blank, and some lose it; there no line end is undone.
const START = new RegExp(
  `${PAGE}(?:${GAP}[^\\s#]{0,300}?(?<signs>${HASH}${GAP}${PLUS})${GAP}|[^\\s#]{0,300}?(?<bare>${HASH}${BLANK}?))` +
    `(?<amount>${AMOUNT})` +
    `|${PLUS}${GAP}(?<rawAmount>${AMOUNT})${GAP}(?<id>${ITEM_ID})${GAP}${DOT}`,
  "g",
);
const ITEM = new RegExp(ITEM_ID, "g");
// A raw output behind one may be of another deed than the page that is named.
const HASH_AT_END = new RegExp(`${HASH}${GAP}$`);
const PIECE = /\+[0-9]+\.deed|\/claim|#\+[0-9]/;
const CAPITALS = /\bDEED_[0-9A-Z]{26}/;
const STRONG = new RegExp(`^(?:${GAP}${BASE32}){32}`);
// In a link that a person wrote by hand, signs within a word are of the secret; those
// at its end are of the sentence around it, and so is what follows in a script without
// blanks: no letter of it stands in a link as it is.
const LETTER = "[A-Za-z0-9%\\u00c0-\\u052f]";
const WORD = new RegExp(`^(?:${LETTER}|[-._~!*+@$:/=]{1,32}(?=${LETTER}))+`, "u");
const UNIT = /^[^\s"<>]{0,300}?&unit=([A-Za-z0-9%]{1,483})/;
/** At most LINK_NUMBER_MAX of wallet/links.js; what is no such number says nothing. */
const SAID = /^[^\s<>]{0,600}?&n=([1-9]\d{0,8}|10{9})(?![^\s&])/;
const HOST =
  /(?:^|[^\p{L}\p{N}.-])((?:(?:[\p{L}\p{N}-]+\.)+[\p{L}\p{N}-]+|localhost)(?::\d+)?\/.*)$/u;
/** One of a single word, right before the path. */
const SHORT_HOST = /(?:^|[^\p{L}\p{N}.-])([\p{L}\p{N}-]+(?::\d+)?\/)$/u;
const BROKEN_HOST = /https?:\/\/[^\s/>=]*[\s>=]{0,9}\n[\s>=]{0,24}$/i;
// By the sign before a raw output, the one that ends it.
const CLOSERS = new Map(
  [
    "()",
    "[]",
    "{}",
    "<>",
    "«»",
    "»«",
    "“”",
    "„“",
    "‘’",
    "‚‘",
    "「」",
    '""',
    "''",
    "``",
    "**",
    "__",
  ].map(([opener, closer]) => [opener, closer]),
);

/**
 * Return the link that hands over an output; `unit` is the issuer's word for one, and
 * `said` the number that it is handed out under.
 */
export function claimLink(
  origin,
  /** @type {RawOutput} */ { itemId, amount, secret },
  { unit = "", said = 0 } = {},
) {
  const named = unit && `&unit=${escape(unit)}`;
  const numbered = said ? `&n=${said}` : "";
  return `${origin}/claim/${itemId}#+${amount}.${escape(secret)}${named}${numbered}`;
}

/**
 * Return the links and raw outputs of a text, and what to say if there are none or one
 * cannot be read. What messengers, mail programs and people do to them is undone.
 *
 * A line end always ends a raw output with an ordinary secret: one that holds any
 * travels by link.
 * @param {string} text
 * @returns {Promise<{links: ReadLink[], problem: string}>}
 */
export async function readLinks(text) {
  const plain = narrowed(text);
  const starts = startsOf(plain);
  const read = await Promise.all(
    starts.map((start, place) => {
      const end = starts[place + 1]?.from;
      return readOne(start, (start.isLink ? plain : text).slice(start.to, end));
    }),
  );
  const links = read.filter((link) => link !== null);
  if (links.length < starts.length) return { links, problem: CUT_TEXT };
  if (links.length) return { links, problem: "" };
  if (CAPITALS.test(plain)) return { links, problem: CAPITALS_TEXT };
  return { links, problem: PIECE.test(plain) ? CUT_TEXT : NOTHING_TEXT };
}

/**
 * Return the deed that a text names, by its item id or by a link to any page of it, and
 * the `host` if it names one; or the `problem`. The secret of a claim link is not read.
 */
export function readItem(text) {
  const plain = narrowed(text);
  const hosts = new Map();
  for (const { 0: id, index } of plain.matchAll(ITEM)) {
    const word = plain
      .slice(Math.max(0, index - PART_LENGTH_MAX), index)
      .split(/[\s"'`<>()[\]]/);
    const itemId = clean(id);
    if (hosts.size > 1) break;
    hosts.set(itemId, hosts.get(itemId) || urlOf(word.at(-1))?.host || "");
  }
  const [[itemId, host] = ["", ""]] = hosts;
  if (hosts.size === 1) return { itemId, host, problem: "" };
  const none = /deed_/.test(plain) ? CUT_TEXT : NO_ITEM_TEXT;
  const problem = CAPITALS.test(plain) ? CAPITALS_TEXT : none;
  return { itemId: "", host: "", problem: hosts.size ? TWO_ITEMS_TEXT : problem };
}

/**
 * Return a text with letters of Latin width, as those of East Asian keyboards are not.
 */
function narrowed(text) {
  return text.replace(/[\uff01-\uff5e]/g, (wide) =>
    String.fromCharCode(wide.charCodeAt(0) - 0xfee0),
  );
}

/** Return where links and raw outputs start, and what stands there. */
function startsOf(plain) {
  let to = 0;
  return Array.from(plain.matchAll(START), (match) => {
    const { page, signs, bare, amount, rawAmount, id } = match.groups ?? {};
    const before = plain.slice(
      Math.max(to, match.index - PART_LENGTH_MAX),
      match.index,
    );
    const isLink = Boolean(page);
    const word = isLink
      ? (before.split(/[\s"'`<>()[\]]|(?=https?:\/\/)/i).at(-1) ?? "")
      : "";
    const host =
      BROKEN_HOST.exec(before.slice(0, before.length - word.length))?.[0] ?? "";
    const front = host.replace(GAPS, "") + word;
    const url = isLink
      ? (urlOf(front, SHORT_HOST) ?? urlOf(before.replace(GAPS, "")))
      : null;
    const from = match.index - word.length;
    to = match.index + match[0].length;
    return {
      // A blank before it belongs to neither.
      from: /\s/.test(plain[from - 1]) ? from - 1 : from,
      to,
      isLink,
      isStrange: isLink
        ? !url && unescape(unescape(word)).includes("//")
        : HASH_AT_END.test(before.slice(-32)),
      opener: before.at(-1) ?? "",
      url,
      escapesCount: escapesCount(signs ?? bare ?? ""),
      front: `+${clean(amount ?? rawAmount)}${clean(page ?? id)}.`,
    };
  });
}

/** Return what one start and the text behind it mean, or null if it is cut off. */
async function readOne(start, tail) {
  if (start.isStrange) return null;
  const text = start.isLink ? unwrapped(tail, start.escapesCount) : tail;
  const broken = STRONG.exec(text)?.[0] ?? "";
  const strong = broken.replace(GAPS, "");
  try {
    // Pages that did not come by https have no checksums: there the form must do.
    const isStrong =
      strong && (!globalThis.crypto?.subtle || (await isStrongSecret(strong)));
    if (isStrong) return linkOf(start, strong, text.slice(broken.length));
    if (!start.isLink) return linkOf(start, rawSecret(text, start.opener), "");
    const word = WORD.exec(text)?.[0] ?? "";
    return linkOf(start, unescape(word), text.slice(word.length));
  } catch (error) {
    if (error instanceof RawOutputError) return null;
    throw error;
  }
}

function linkOf({ front, url }, secret, rest) {
  const output = parseRawOutput(front + secret);
  const unit = unescape(UNIT.exec(rest)?.[1] ?? "").trim();
  const link = {
    output,
    unit: isUnit(unit) ? unit : "",
    said: Number(SAID.exec(rest)?.[1]) || undefined,
    host: url?.host ?? "",
    address: "",
  };
  if (url) link.address = claimLink(url.origin, output, link);
  return link;
}

/**
 * Return the ordinary secret of a raw output: the rest of the line, without a sign that
 * answers the one before the raw output. Blanks at its end are dropped only if it has
 * no meaning with them.
 */
function rawSecret(tail, opener) {
  const [line] = tail.slice(0, PART_LENGTH_MAX).split(/[\r\n]/, 1);
  const closer = CLOSERS.get(opener);
  const words = closer ? line.split(closer) : [];
  // The first one that no letter follows.
  const ends = words.findIndex((_, place) =>
    /^(?:[\s\p{P}]|$)/u.test(words[place + 1] ?? "x"),
  );
  if (closer && ends >= 0) return words.slice(0, ends + 1).join(closer);
  return [...line].length > SECRET_LENGTH_MAX ? line.trimEnd() : line;
}

/** Undo what was done to the rest of a link as a whole. */
function unwrapped(tail, escapesCount) {
  let text = tail.slice(0, PART_LENGTH_MAX).replace(UNSEEN_ONES, "");
  text = text.replaceAll("\\", "");
  text = text.replace(/&(?:amp|#38);/g, "&");
  if (escapesCount) {
    // Less often than it would be in the secret.
    const escaped = `%(?:25){0,${escapesCount - 1}}`;
    const pair = new RegExp(`${escaped}26([a-z_]+)${escaped}3[Dd]`, "g");
    text = text.replace(pair, "&$1=");
  }
  // Where any other escape is left, the signs alone were escaped.
  for (let count = 0; count < escapesCount && !/^[^&\s]*%(?!25)/.test(text); count += 1)
    text = text.replaceAll("%25", "%");
  return text;
}

/** Return how often a link was escaped, hash and plus alike. */
function escapesCount(signs) {
  const escaped = Array.from(signs.matchAll(/%((?:25)*)2[3Bb]/g), ([, inner]) => inner);
  const counts = escaped.map(({ length }) => 1 + length / 2);
  return counts.length > 1 ? Math.min(...counts) : 0;
}

/**
 * Return the address that a link's front names, without its path, or null if it names
 * none.
 */
function urlOf(front, alsoHost = HOST) {
  const plain = unescape(unescape(unescape(front.replaceAll("\\", ""))));
  const last = plain.split(/(?=https?:\/\/)/i).at(-1) ?? "";
  const host = (HOST.exec(last) ?? alsoHost.exec(last))?.[1];
  const named = /^https?:/i.test(last) ? last : host && `https://${host}`;
  try {
    if (!named) return null;
    const url = new URL(named);
    // A dot behind it names the same host.
    url.hostname = url.hostname.replace(/\.$/, "");
    return url;
  } catch {
    return null;
  }
}

/** Return a part of a link without what came between its characters. */
const clean = (part) =>
  part.replace(GAPS, "").replaceAll("\\", "").replace(/%5f/i, "_");

/** Return the pattern of a word that may be broken anywhere. */
function loose(word) {
  return [...word].map((letter) => letter + GAP).join("");
}

function escape(text) {
  return encodeURIComponent(text).replace(
    /[^A-Za-z0-9%]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Undo `escape`; what was not escaped, such as a lone percent sign, stays as it is. */
function unescape(text) {
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes;
    }
  });
}
