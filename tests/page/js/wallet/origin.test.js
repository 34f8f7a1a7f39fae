// Which deed is the one that a wallet knows, and which only looks like it.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import {
  findOrigins,
  findOwn,
  likenessOf,
  nameKey,
  originOf,
} from "../../../../parts/pages/static/js/ui/origin.js";
import { isMixed } from "../../../../parts/pages/static/js/format/about.js";
import { giverOf, makerOn, NOTHING, walletHolding } from "./parts.js";

const NAME = "Hope Concert 10";
const SAME = [
  "hope  concert 10",
  "HOPE\u00a0CONCERT 10",
  "Hope-Concert, 10!",
  "“Hope Concert 10”",
  "Höpe Cóncert 10",
  "Ｈｏｐｅ Ｃｏｎｃｅｒｔ １０",
  "Ho\u200bpe Con\u00adcert 10\u2069",
  "Норе Соnсеrt 10",
  "Ηοpe Cοncert 10",
  "H0pe Concert l0",
  "ℍ𝗼𝓹𝖾 Concert 10",
  "🎵 Hope Concert 10",
  "Hope\u3164Conc\uffa0ert\u2800\u115f 10",
  "ꓧꓳꓑꓰ ꓚꓳꓠꓚꓰꓣꓔ 10",
  "ᎻჿᏢᎬ Ꮯᴏռᴄеꭱᴛ ӏ0",
  "հøре Ⅽσnⅽеrt ı0",
  "НОРЕ СОΝСЕRТ 10",
  "hoᴘe ςoпςert 10",
];
const OTHERS = ["Hope Concert 11", "Hope Concerts 10", "Hop Concert 10", "Hope", ""];

for (const name of SAME) {
  test(`a person takes it for the same name: ${name}`, () => {
    assert.equal(nameKey(name), nameKey(NAME));
  });
}

for (const name of OTHERS) {
  test(`it is another name: ${name}`, () => {
    assert.notEqual(nameKey(name), nameKey(NAME));
  });
}

test("names without letters and of other scripts are told apart too", () => {
  const names = [
    "🎟",
    "🎵",
    "!!",
    "東京",
    "京都",
    "Кино",
    "Киев",
    "Ж",
    "Б",
    "კინო",
    "კონცერტი",
    "",
  ];

  assert.equal(new Set(names.map(nameKey)).size, names.length);
});

test("the case of a word of another script does not count", () => {
  assert.equal(nameKey("КОНЦЕРТ ВНУКОВ"), nameKey("Концерт внуков"));
});

test("the picture makes deeds without a name the same, whatever it is that is not seen", () => {
  const of = (metadata) => likenessOf({ metadata: JSON.stringify(metadata) });
  const nameless = of({ image: "https://a.example/" });

  for (const name of [
    "",
    "\u200b",
    "\u2800 \u3164",
    "\u202e",
    "a deed without a n\u0430me",
  ]) {
    assert.deepEqual(of({ name, image: "https://a.example/" }), nameless);
  }
  assert.notDeepEqual(of({ image: "https://b.example/" }), nameless);
  const [key] = of({ name: NAME, image: "https://a.example/" });
  assert.equal(key, nameKey(NAME));
});

/** One name in 25 spellings that people may confuse with it. */
const SPELLINGS = [
  "Summer Wine Gаrden Concert",
  "Summеr Winе Garden Соnсert",
  "Summer Wine Garden Cοncert",
  "ЅUММЕR WΙΝЕ GΑRDΕΝ СОΝСЕRТ",
  "Ｓｕｍｍｅｒ Ｗｉｎｅ Ｇａｒｄｅｎ Ｃｏｎｃｅｒｔ",
  "𝗦𝘂𝗺𝗺𝗲𝗿 𝗪𝗶𝗻𝗲 𝗚𝗮𝗿𝗱𝗲𝗻 𝗖𝗼𝗻𝗰𝗲𝗿𝘁",
  "𝓢𝓾𝓶𝓶𝓮𝓻 𝔚𝔦𝔫𝔢 𝔾𝕒𝕣𝕕𝕖𝕟 ℂ𝕠𝕟𝕔𝕖𝕣𝕥",
  "Summer Wine Garden C0ncert",
  "Summer W1ne Garden Concert",
  "Summer W|ne Garden Concert",
  "Sum\u200dmer Wine Gar\u2060den Con\u00adcert",
  "Summer Wine Gardeո Cօncert",
  "Summer Wine Ꮐarden Ꮯoncert",
  "ꓢꓴꓟꓟꓰꓣ ꓪꓲꓠꓰ ꓖꓮꓣꓓꓰꓠ ꓚꓳꓠꓚꓰꓣꓔ",
  "Summ\u0307er Wıne G\u0323arden Co\u0308ncert",
  "ꜱᴜᴍᴍᴇʀ ᴡɪɴᴇ ɢᴀʀᴅᴇɴ ᴄᴏɴᴄᴇʀᴛ",
  "Surnrner Wine Garden Concert",
  "Summer VVine Garden Concert",
  "Summer Wine Garclen Concert",
  "SUMMER WINE GARDEN CⲞNCERT",
  "SUMMER WINE G𐊠RDEN CONCERT",
  "Summer Win℮ Garden Concert",
  "S∪mmer Wine Garden Concert",
  "SUMMER WINE GARᗞEN CONCERT",
  "SUMMER WINE GAЯDEN CONCERT",
];
const named = (id, name, facts = "") => {
  const metadata = JSON.stringify({ name, description: facts });
  return { id, key: id, total: 5, metadata };
};

test("of 25 spellings of a name each is told or marked, of most by our own letters", async () => {
  const { service } = await walletHolding();
  const { store } = makerOn(service);
  const made = { ...named("deed_a", "Summer Wine Garden Concert"), isMinted: true };
  store.put({ items: [made] });
  const spelled = SPELLINGS.map((name, at) => named(`deed_${at}`, name));
  const told = async () => {
    const origins = await findOrigins(store, spelled);
    const isTold = ({ id }) => origins.get(id)?.kind === "copied";
    return spelled.filter(isTold).length;
  };
  assert.equal(await told(), 19);
  const fetched = [];
  const table = new URL(
    "../../../../parts/pages/node_modules/unhomoglyph/data.json",
    import.meta.url,
  );
  Object.assign(globalThis, {
    document: { body: { dataset: { lookAlikes: "/table" } } },
    async fetch(address) {
      fetched.push(address);
      return { json: async () => JSON.parse(await readFile(table, "utf8")) };
    },
  });

  await findOrigins(store, [named("deed_b", "Große Töne 🎵 №5, 7 €")]);
  assert.deepEqual(fetched, []);
  assert.equal(await told(), 24);

  assert.deepEqual(fetched, ["/table"]);
  for (const name of ["SUMMER WINE GAЯDEN CONCERT", "C\u200b\u043e\u200bncert"])
    assert.ok(isMixed(name), name);
  for (const name of ["Garden Концерт Ωδή", "Größe 10 µ", "東京 Tokyo"])
    assert.ok(!isMixed(name), name);
});

const FRIDAY = "Date: 2026-11-28 20:00 +01:00";
const SATURDAY = "Date: 2026-11-29 20:00 +01:00";
const LATE = "Date: 2026-11-28 22:00 +01:00";
const concert = (id, facts) => {
  const item = named(id, "Garden Concert", facts);
  return { ...item, alike: likenessOf(item) };
};
const OTHER_DATE = /^Same name, another date: S.*29.*\. Each date has its own mark\.$/;
const HELD = "Same as one that you have, or had.";

/** Return all orders of these. */
const ordersOf = (all) =>
  all.length < 2
    ? [all]
    : all.flatMap((one) =>
        ordersOf(all.filter((each) => each !== one)).map((rest) => [one, ...rest]),
      );

const held = concert("deed_held", FRIDAY);
const sent = concert("deed_sent", SATURDAY);
const forged = concert("deed_forged", LATE);

for (const order of ordersOf([held, sent, forged])) {
  test(`in this order nobody is alarmed for nothing: ${order.map(({ id }) => id)}`, () => {
    for (const [place, item] of order.entries()) {
      const before = order.slice(0, place);
      const { kind, text, tint } = originOf(item, before);
      const isSame = before.some((each) => each !== sent && item !== sent);
      if (!place) assert.equal(text, "");
      else if (isSame) assert.deepEqual([kind, tint], ["lookalike", "bad"]);
      else assert.equal(tint, "wait");
    }
    for (const item of order) {
      assert.equal(originOf(item, [item]).text, HELD);
      const { kind } = originOf(item, order);
      assert.equal(kind, item === sent ? "nights" : "two");
    }
    // Who made one knows, whatever a person has compared.
    const made = order.map((each) => ({
      ...each,
      isMinted: each === held,
      isCompared: true,
    }));
    const said = made.map((item) => originOf(item, made).kind);
    const expected = order.map((each) => (each === held ? "minted" : "copied"));
    assert.deepEqual(said, expected);
  });
}

test("only where both say a day it is another one, by its own clock", () => {
  const undated = concert("deed_undated", "At the bar.");
  const samoa = concert("deed_samoa", "Date: 2026-11-28 23:59 -11:00");

  assert.match(originOf(sent, [held]).text, OTHER_DATE);
  assert.match(
    originOf(undated, [held]).text,
    /the mark unda·ated, and your other “Garden Concert” held·held\./,
  );
  assert.equal(originOf(held, [undated]).kind, "lookalike");
  assert.equal(originOf(samoa, [held]).kind, "lookalike");
});

test("a deed of which only a claim was refused is as new as before", async () => {
  const { service, itemId, given } = await giverOf(5);
  service.take(given);
  const { store, wallet: taker } = makerOn(service);
  const items = [itemId, "deed_other"].map((id) => ({ id, key: id, total: 5 }));
  await taker.importRecords({ ...NOTHING, items: [items[0]] }, { isOwn: true });

  const { operation } = await taker.claim(given);

  assert.equal(operation.state, "refused");
  const origins = await findOrigins(store, items);
  assert.deepEqual(
    items.map(({ id }) => origins.get(id).kind),
    ["opened", "opened"],
  );
  // Nor has this wallet held it.
  assert.deepEqual(await findOwn(store, items), []);
});

test("what a wallet made, or was given and has spent, is its own", async () => {
  const { service, store, itemId, given } = await giverOf(5);
  const { store: theirs, wallet: taker } = makerOn(service);
  await taker.claim(given);
  const id = itemId;
  const [made, held, seen] = [{ id, isMinted: true }, { id }, { id: "deed_seen" }].map(
    (item) => ({ key: item.id, total: 5, ...item }),
  );

  assert.deepEqual(await findOwn(store, [made, seen]), [made]);
  assert.deepEqual(await findOwn(theirs, [held, seen]), [held]);
  await taker.send(itemId, 5);
  assert.deepEqual(await findOwn(theirs, [held, seen]), [held]);
});
