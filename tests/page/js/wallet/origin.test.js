// Which deed is the one that a wallet knows, and which only has its name.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  findOrigins,
  likenessOf,
  nameKey,
  originOf,
} from "../../../../parts/pages/static/js/ui/origin.js";
import { giverOf, makerOn, NOTHING } from "./parts.js";

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
    assert.equal(of({ name, image: "https://a.example/" }), nameless);
  }
  assert.notEqual(of({ image: "https://b.example/" }), nameless);
  assert.equal(of({ name: NAME, image: "https://a.example/" }), nameKey(NAME));
});

const alike = nameKey(NAME);
const minted = { id: "deed_a", alike, isMinted: true };
const held = { id: "deed_b", alike: nameKey("A voucher") };

const CASES = [
  ["minted", minted, [minted, held]],
  ["minted", minted, [minted, { ...held, alike }]],
  ["held", held, [minted, held]],
  ["new", { id: "deed_c", alike: nameKey("A share") }, [minted, held]],
  ["new", { id: "deed_c", alike: "" }, [minted, { ...held, alike: "" }]],
  ["lookalike", { id: "deed_c", alike }, [minted, held]],
  ["lookalike", { ...held, alike }, [minted, { ...held, alike }]],
];

for (const [kind, item, known] of CASES) {
  test(`${item.id} of ${known.length} is ${kind}`, () => {
    const origin = originOf(item, known);

    assert.equal(origin.kind, kind);
    assert.match(origin.text, /^[A-Z].*\.$/);
  });
}

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
    ["new", "new"],
  );
});
