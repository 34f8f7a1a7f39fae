// Claim links, and texts with links that messengers and people have changed.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  claimLink,
  readItem,
  readLinks,
} from "../../../../parts/pages/static/js/format/claim_link.js";
import {
  formatRawOutput,
  makeStrongSecret,
} from "../../../../parts/pages/static/js/format/raw_output.js";
import { LINK_NUMBER_MAX } from "../../../../parts/pages/static/js/wallet/links.js";
import { Random } from "../wallet/random.js";

const HOST = "deeds.example.com";
const ORIGIN = `https://${HOST}`;
const ID = `deed_${"x".repeat(26)}`;
const STRONG = await makeStrongSecret();
const SECRETS = [
  STRONG,
  "a",
  "a.b+c d",
  " leading and trailing ",
  "ends with a dot.",
  "(brackets)!*'~_-)",
  "#?&=%41%",
  "&unit=hour",
  "100%",
  "a\nb\tc\0",
  "+5.deed_x.a",
  "http://a/claim#+5.deed_x.a",
  'quotes "and" <tags>`',
  "e\u0301\u00a0\u2028\ufeff\u200b",
  "😀".repeat(32),
];

const outputWith = (secret) => ({ amount: 5, itemId: ID, secret });
const linkOf = (secret) => claimLink(ORIGIN, outputWith(secret));
const rawOf = (secret) => formatRawOutput(outputWith(secret));

/** Return the secrets of the links in a text, or the problem. All are of one item. */
async function secretsIn(text) {
  const { links, problem } = await readLinks(text);
  for (const { output } of links) assert.deepEqual(output, outputWith(output.secret));
  return problem || links.map(({ output }) => output.secret);
}

/** Fail unless a text has exactly this link. */
async function assertLinkIn(text, link) {
  const found = { links: [{ host: HOST, said: undefined, ...link }], problem: "" };
  assert.deepEqual(await readLinks(text), found, text);
}

for (const secret of SECRETS) {
  test(`a link brings its output and unit back: ${JSON.stringify(secret)}`, async () => {
    const output = outputWith(secret);
    const unit = "Stück &c./Stücke";
    const link = claimLink(ORIGIN, output, { unit });

    assert.match(link, /claim\/deed_x{26}#\+5\.[A-Za-z0-9%]+&unit=[A-Za-z0-9%]+$/);
    await assertLinkIn(link, { output, unit, address: link });
  });
}

test("every single character makes the round trip, whatever follows the link", async () => {
  const secrets = Array.from({ length: 0x3000 }, (_, code) =>
    String.fromCodePoint(code),
  );

  assert.deepEqual(
    await secretsIn(secrets.map((each) => `${linkOf(each)}.\n`).join("")),
    secrets,
  );
});

// What is done to a link as a whole.
const DONE_TO_LINKS = {
  "broken in its id": (link) =>
    link.replace("xxx#", "x\n> xx#").replace(ID.slice(0, 9), `${ID.slice(0, 9)}=\r\n`),
  "broken before its fragment": (link) => link.replace("#", "\n> > #"),
  "in full width": (link) =>
    link.replace(/[!-~]/g, (each) => String.fromCharCode(each.charCodeAt(0) + 0xfee0)),
};

for (const [name, change] of Object.entries(DONE_TO_LINKS)) {
  test(`a link is read for all that: ${name}`, async () => {
    for (const secret of [STRONG, "see you at 8.", "pass(word)"]) {
      const output = outputWith(secret);
      const link = claimLink(ORIGIN, output, { unit: "hour" });

      await assertLinkIn(change(link), { output, unit: "hour", address: link });
    }
  });
}

const CASES = JSON.parse(
  readFileSync(new URL("../../../vectors/links.json", import.meta.url), "utf8"),
);
for (const { name, url, text, outputs = [], refused = "" } of CASES) {
  test(`the client's case: ${name}`, async () => {
    const { links, problem } = await readLinks(text);

    const read = new Set(links.map(({ output }) => formatRawOutput(output)));
    assert.deepEqual([...read], outputs);
    assert.ok(problem.includes(refused), problem);
    const { host } = new URL(url);
    for (const link of links) {
      assert.ok(["", host].includes(link.host), link.host);
      if (text.includes("hour")) assert.equal(link.unit, "hour");
    }
  });
}

test("no secret becomes another one, whatever is done to its link", async () => {
  const chance = new Random(6);
  const done = [
    (link) => link,
    (link) => link.replace("+", ""),
    (link) => link.replace("+", " "),
    (link) => link.replace("#+", "%23%20"),
    (link) => link.replace(/[^\w%]|_/g, "\\$&"),
    (link) => link.replace("&", "&amp;"),
    (link) => [...link].join("\u200b"),
    (link) => `[${link}](${link})`,
  ];
  const signs = [..."+#%.&=\\_-~*/?:5a0 \n\0é😀\u200b\u00ad"];
  for (let count = 0; count < 2000; count += 1) {
    const length = 1 + chance.below(32);
    const secret = Array.from({ length }, () => chance.pick(signs)).join("");
    const text = `(${chance.pick(done)(`${linkOf(secret)}&unit=hour`)}), bye`;

    assert.deepEqual([...new Set(await secretsIn(text))], [secret], text);
  }
});

// What is done to a secret of a machine's form, which its checksum finds again.
const broken = `${STRONG.slice(0, 11)}\r\n> ${STRONG.slice(11, 20)} \u200b${STRONG.slice(20)}`;
const STRONG_TEXTS = {
  "a broken link": linkOf(broken).replace(/#.*/, `#+5.${broken}`),
  "a broken raw output": rawOf(broken),
  "letters behind it": `${rawOf(STRONG)}Bye`,
  "words behind it": `Here it is:\n${rawOf(STRONG)} - take care\nBye`,
  "a dot and a quote behind it": `> "${rawOf(STRONG)}."`,
  "its plus escaped": rawOf(STRONG).replace("+", "%2B"),
};

for (const [name, text] of Object.entries(STRONG_TEXTS)) {
  test(`a strong secret is found by its checksum: ${name}`, async () => {
    assert.deepEqual(await secretsIn(text), [STRONG]);
  });
}

const TEXTS = {
  "several in a line": [`+5.${ID}.a +5.${ID}.b\t+5.${ID}.c`, ["a", "b", "c"]],
  "a blank behind a made-up secret is a part of it": [`+5.${ID}.a `, ["a "]],
  "in brackets": [
    `(+5.${ID}.a(b)c) and <+5.${ID}.d>, "+5.${ID}.e".`,
    ["a(b)c", "d", "e"],
  ],
  "in quotes": [`„+5.${ID}.a“ and '+5.${ID}.don't'`, ["a", "don't"]],
  "a link that nobody escaped": [
    `${ORIGIN}/claim/${ID}#+5.pass-on.it+now`,
    ["pass-on.it+now"],
  ],
  "a link whose escapes are no text": [`claim/${ID}#+5.%FF 100%`, ["%FF"]],
  "no end": [`claim/${ID}#+5.100%`, ["100%"]],
};

for (const [name, [text, secrets]] of Object.entries(TEXTS)) {
  test(`outputs are found in a text: ${name}`, async () => {
    assert.deepEqual(await secretsIn(text), secrets);
  });
}

for (const [text, problem] of [
  [`${ORIGIN}/claim/`, /cut off/],
  [`+5.${ID}`, /cut off/],
  [`+5.${ID}.${"b".repeat(33)}`, /cut off/],
  [`+99999999999999999.${ID}.a`, /cut off/],
  ["", /no claim link/],
  [" \n ", /no claim link/],
  [linkOf(STRONG).toUpperCase(), /capital letters/],
]) {
  test(`it is told what is wrong with a link: ${JSON.stringify(text)}`, async () => {
    assert.match(String(await secretsIn(text)), /** @type {RegExp} */ (problem));
  });
}

test("those that can be read are there beside one that is cut off", async () => {
  const { links, problem } = await readLinks(
    `${linkOf("a")}\n+5.${ID}.\n${rawOf("b")}`,
  );

  assert.deepEqual([links.length, /cut off/.test(problem)], [2, true]);
});

for (const query of ["", `?${"a".repeat(400)}`, "%23"]) {
  test(`a link that names two deeds hands over neither: ${query.length}`, async () => {
    const other = `deed_${"y".repeat(26)}`;

    const found = await secretsIn(`${ORIGIN}/claim/${ID}${query}#+5.${other}.a`);

    assert.match(String(found), /cut off/);
  });
}

const HOSTS = [
  [`https://deeds.exam\nple.com/claim/${ID}#+5.a`, [HOST]],
  [`> https://deeds.exam=\r\n> ple.com/claim/${ID}#+5.a`, [HOST]],
  [`${linkOf("a")}${linkOf("b")}`, [HOST, HOST]],
  [`${linkOf(STRONG)}${linkOf(STRONG)}`, [HOST, HOST]],
  [linkOf(STRONG).replace(HOST, `${HOST}@evil.example:8443`), ["evil.example:8443"]],
  [`intranet/claim/${ID}#+5.a`, ["intranet"]],
  [`on localhost:80/claim/${ID}#+5.a`, ["localhost:80"]],
  [`whatsapp://evil/claim/${ID}#+5.a`, ["evil"]],
  [`file:///claim/${ID}#+5.a`, []],
  [`Open /claim/${ID}/#+5.a or claim/${ID}#+5.a`, ["", ""]],
];
for (const [text, hosts] of HOSTS) {
  test(`a link is of the host that it names: ${text}`, async () => {
    const { links } = await readLinks(text);

    assert.deepEqual(
      links.map(({ host }) => host),
      hosts,
    );
  });
}

test("no unit is taken that could pass for more than a word, or for a part of the amount", async () => {
  const digits = ["000 tickets", "x 2", "٣", "½ seat", "½", "-5", "\u3164a", "a\u3164"];
  for (const unit of ["x".repeat(21), "a\nb", "\u202eabc", ...digits]) {
    const { links } = await readLinks(claimLink(ORIGIN, outputWith("a"), { unit }));

    assert.equal(links[0].unit, "");
  }
});

test("a link says its number on either side of the unit", async () => {
  const output = outputWith("&n=3");
  const unit = "hour";
  const plain = claimLink(ORIGIN, output, { unit });
  for (const [number, said] of [
    ["12&n=13", 12],
    [LINK_NUMBER_MAX, LINK_NUMBER_MAX],
    ...[0, 1e12, LINK_NUMBER_MAX + 1, "012", "1.5", "x", "1x", "-1"].map((n) => [n]),
  ]) {
    const address = claimLink(ORIGIN, output, { unit, said });
    for (const text of [`${plain}&n=${number}`, plain.replace("&", `&n=${number}&`)])
      await assertLinkIn(text, { output, unit, said, address });
  }
});

const MEGABYTE = 2 ** 20;
const BREAK = `https://x${"\n".repeat(4000)}"/claim/${ID}#+5.${ID}.`;
for (const piece of [
  "+1.deed_",
  "+",
  "claim/",
  `claim/${ID}`,
  "1\n",
  "%2B5.",
  `#+5.${ID}.`,
  "https://a.b/",
  " ",
  ">",
  "a.",
  BREAK,
]) {
  test(`a long text is read in a moment: ${JSON.stringify(piece.slice(0, 40))}`, async () => {
    // Of this process alone: the machine may be busy with others.
    const before = process.cpuUsage();

    await readLinks(`+1${piece.repeat(MEGABYTE / piece.length)}`);

    assert.ok(process.cpuUsage(before).user < 2_000_000);
  });
}

test("the deed that a text names is found by its id or by a link to any of its pages", () => {
  const named = { itemId: ID, problem: "" };
  const texts = [
    `${ORIGIN}/item/${ID}`,
    `See <${ORIGIN}/wallet#${ID}>.`,
    linkOf("a b"),
  ];

  for (const text of [...texts, `deeds.example.com/item/${ID}`]) {
    assert.deepEqual(readItem(text), { ...named, host: HOST }, text);
  }
  for (const text of [
    ID,
    ` ${ID.slice(0, 20)}\u200b\n${ID.slice(20)}`,
    rawOf("a"),
    `/item/${ID}`,
  ]) {
    assert.deepEqual(readItem(text), { ...named, host: "" }, text);
  }
});

test("a text that names no deed, half of one or two says so", () => {
  const texts = [
    "",
    "Night Choir",
    ID.slice(0, 20),
    ID.toUpperCase(),
    `${ID} deed_${"y".repeat(26)}`,
  ];

  const problems = texts
    .map((text) => readItem(text))
    .map(({ itemId, problem }) => itemId || problem);

  for (const problem of problems) assert.match(problem, /^T.*\.$/);
  assert.equal(new Set(problems).size, 4);
});
