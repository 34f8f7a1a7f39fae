// Claim links, `/claim/<item id>#+<amount>.<secret>`, and the links and raw outputs in
// texts. The secret is in the fragment only, which browsers never send to a server. All
// its characters except letters and digits are escaped, so text that others append to a
// link is never read as part of the secret.

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
 *   `said` is the number that the link states, which proves nothing; `host` is the host
 *   that the text names, `address` the same link at that host; both are empty if it
 *   names none
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
 * Characters examined before an item id, and after it. No service accepts longer
 * addresses.
 */
const PART_LENGTH_MAX = 4200;

// Invisible characters, which apps insert into long words.
const UNSEEN =
  "\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff";
const UNSEEN_ONES = new RegExp(`[${UNSEEN}]`, "g");
// Characters that mail programs and people insert where they break a link: whitespace,
// ">" before quoted lines, "=" before a line break in quoted-printable.
const GAPS = new RegExp(`[\\s>=${UNSEEN}]+`, "g");
const GAP = `[\\s>=${UNSEEN}]{0,24}`;
const BASE32 = "[0-9a-hjkmnp-tv-z]";
const UNDERSCORE = "(?:\\\\?_|%5[Ff])";
const DOT = "\\\\?\\.";
const ITEM_ID = `${loose("deed")}${UNDERSCORE}${GAP}(?:${BASE32}${GAP}){25}${BASE32}`;
const AMOUNT = `[1-9](?:${GAP}[0-9]){0,15}${GAP}${DOT}`;
// A link that is part of another link is percent-encoded, up to three times.
const SLASH = "(?:\\\\?/|%(?:25){0,2}2[Ff])";
const HASH = "(?:\\\\?#|%(?:25){0,2}23|&num;|&#35;)";
const PLUS = "(?:\\\\?\\+|%(?:25){0,2}2[Bb]|&plus;|&#43;)";
const BLANK = "(?:[ \\u00a0]|%(?:25){0,2}20)";
const PAGE = `${loose("claim")}${SLASH}${GAP}(?<page>${ITEM_ID})`;
// A match is longer than a secret, so it is never part of one. Some messengers replace
// the plus by a space or drop it; such links are not joined across line breaks.
const START = new RegExp(
  `${PAGE}(?:${GAP}[^\\s#]{0,300}?(?<signs>${HASH}${GAP}${PLUS})${GAP}|[^\\s#]{0,300}?(?<bare>${HASH}${BLANK}?))` +
    `(?<amount>${AMOUNT})` +
    `|${PLUS}${GAP}(?<rawAmount>${AMOUNT})${GAP}(?<id>${ITEM_ID})${GAP}${DOT}`,
  "g",
);
const ITEM = new RegExp(ITEM_ID, "g");
// A raw output after a hash may belong to another deed than the page before the hash.
const HASH_AT_END = new RegExp(`${HASH}${GAP}$`);
const PIECE = /\+[0-9]+\.deed|\/claim|#\+[0-9]/;
const CAPITALS = /\bDEED_[0-9A-Z]{26}/;
const STRONG = new RegExp(`^(?:${GAP}${BASE32}){32}`);
// In a link written by hand, punctuation within a word belongs to the secret.
// Punctuation at its end belongs to the sentence. So do letters of scripts that use no
// spaces: links contain them only escaped.
const LETTER = "[A-Za-z0-9%\\u00c0-\\u052f]";
const WORD = new RegExp(`^(?:${LETTER}|[-._~!*+@$:/=]{1,32}(?=${LETTER}))+`, "u");
const UNIT = /^[^\s"<>]{0,300}?&unit=([A-Za-z0-9%]{1,483})/;
/** At most LINK_NUMBER_MAX of wallet/links.js; other numbers are ignored. */
const SAID = /^[^\s<>]{0,600}?&n=([1-9]\d{0,8}|10{9})(?![^\s&])/;
const HOST =
  /(?:^|[^\p{L}\p{N}.-])((?:(?:[\p{L}\p{N}-]+\.)+[\p{L}\p{N}-]+|localhost)(?::\d+)?\/.*)$/u;
/** A host of a single word, directly before the path. */
const SHORT_HOST = /(?:^|[^\p{L}\p{N}.-])([\p{L}\p{N}-]+(?::\d+)?\/)$/u;
const BROKEN_HOST = /https?:\/\/[^\s/>=]*[\s>=]{0,9}\n[\s>=]{0,24}$/i;
// By the character before a raw output, the character that closes it.
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
 * Return the claim link of an output; `unit` is the issuer's word for one unit, `said`
 * the number of the link.
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
 * Return the links and raw outputs in a text, and the problem to show if there are none
 * or one cannot be read. Changes that messengers, mail programs and people make to
 * links are undone.
 *
 * A line break always ends a raw output with an ordinary secret. A secret that contains
 * one can only be passed on by link.
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
 * Return the deed that a text names, by its item id or by a link to any of its pages,
 * and the `host` if the text names one; or the `problem`. Secrets of claim links are
 * not read.
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

/** Replace full-width characters, as typed on East Asian keyboards, by ASCII. */
function narrowed(text) {
  return text.replace(/[\uff01-\uff5e]/g, (wide) =>
    String.fromCharCode(wide.charCodeAt(0) - 0xfee0),
  );
}

/** Return the position of each link and raw output, and what its beginning states. */
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
      // A blank before a link belongs to neither link.
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

/**
 * Return the link that a start and the text after it form, or null if it is cut off.
 */
async function readOne(start, tail) {
  if (start.isStrange) return null;
  const text = start.isLink ? unwrapped(tail, start.escapesCount) : tail;
  const broken = STRONG.exec(text)?.[0] ?? "";
  const strong = broken.replace(GAPS, "");
  try {
    // Without https there is no WebCrypto to compute checksums; the form must suffice.
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
 * Return the ordinary secret of a raw output: the rest of the line, up to the character
 * that closes the one before the raw output. Trailing blanks are dropped only if the
 * secret would be too long with them.
 */
function rawSecret(tail, opener) {
  const [line] = tail.slice(0, PART_LENGTH_MAX).split(/[\r\n]/, 1);
  const closer = CLOSERS.get(opener);
  const words = closer ? line.split(closer) : [];
  // The first closing character before a space, punctuation or the end of the line.
  const ends = words.findIndex((_, place) =>
    /^(?:[\s\p{P}]|$)/u.test(words[place + 1] ?? "x"),
  );
  if (closer && ends >= 0) return words.slice(0, ends + 1).join(closer);
  return [...line].length > SECRET_LENGTH_MAX ? line.trimEnd() : line;
}

/** Undo changes that were made to the rest of a link as a whole. */
function unwrapped(tail, escapesCount) {
  let text = tail.slice(0, PART_LENGTH_MAX).replace(UNSEEN_ONES, "");
  text = text.replaceAll("\\", "");
  text = text.replace(/&(?:amp|#38);/g, "&");
  if (escapesCount) {
    // The same characters in the secret are escaped once more than these separators.
    const escaped = `%(?:25){0,${escapesCount - 1}}`;
    const pair = new RegExp(`${escaped}26([a-z_]+)${escaped}3[Dd]`, "g");
    text = text.replace(pair, "&$1=");
  }
  // Any other escape shows that only the separators were escaped.
  for (let count = 0; count < escapesCount && !/^[^&\s]*%(?!25)/.test(text); count += 1)
    text = text.replaceAll("%25", "%");
  return text;
}

/** Return how many times both the hash and the plus were percent-encoded. */
function escapesCount(signs) {
  const escaped = Array.from(signs.matchAll(/%((?:25)*)2[3Bb]/g), ([, inner]) => inner);
  const counts = escaped.map(({ length }) => 1 + length / 2);
  return counts.length > 1 ? Math.min(...counts) : 0;
}

/** Return the URL that the beginning of a link names, or null if it names none. */
function urlOf(front, alsoHost = HOST) {
  const plain = unescape(unescape(unescape(front.replaceAll("\\", ""))));
  const last = plain.split(/(?=https?:\/\/)/i).at(-1) ?? "";
  const host = (HOST.exec(last) ?? alsoHost.exec(last))?.[1];
  const named = /^https?:/i.test(last) ? last : host && `https://${host}`;
  try {
    if (!named) return null;
    const url = new URL(named);
    // A trailing dot names the same host.
    url.hostname = url.hostname.replace(/\.$/, "");
    return url;
  } catch {
    return null;
  }
}

/** Return a part of a link without characters that were inserted into it. */
const clean = (part) =>
  part.replace(GAPS, "").replaceAll("\\", "").replace(/%5f/i, "_");

/** Return a pattern for a word that may be broken anywhere. */
function loose(word) {
  return [...word].map((letter) => letter + GAP).join("");
}

function escape(text) {
  return encodeURIComponent(text).replace(
    /[^A-Za-z0-9%]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Undo `escape`. Invalid escapes, such as a lone percent sign, are kept. */
function unescape(text) {
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes;
    }
  });
}
