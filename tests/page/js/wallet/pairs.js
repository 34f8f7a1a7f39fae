// Prints cases for the client's tests as JSON: pairs of files of random wallets with
// the records that the page merges them to, and files with one field changed, each with
// whether the page accepts it.

import { readRecords } from "../../../../parts/pages/static/js/wallet/file.js";
import { memoryStore } from "./memory_store.js";
import { throughText, walletOn } from "./parts.js";
import { World } from "./world.js";

const STEPS_COUNT = 40;
const PAIRS_COUNT = 4;
const JUNK = [
  null,
  true,
  -1,
  0,
  7,
  1.5,
  2 ** 53,
  "",
  "x",
  "given",
  "deed_1.x",
  [],
  [null],
  {},
];

const seen = new Set();
const pairs = [];
for (let seed = 1; seed <= Number(process.argv[2]); seed += 1) {
  pairs.push(...(await pairsOf(new World(seed))).filter(isNews));
}
console.log(
  JSON.stringify({ pairs, forged: [...fieldsOf(pairs).values()].flatMap(forgedOf) }),
);

/** Return pairs of files of one world, each with the records that merge both. */
async function pairsOf(world) {
  const { random, service, stores, exports } = world;
  await world.walk(STEPS_COUNT);
  for (const store of stores) {
    exports.push(throughText(await walletOn(service, store).exportRecords()));
  }
  const found = Array.from({ length: PAIRS_COUNT }, async () => {
    const files = [random.pick(exports), random.pick(exports)];
    const wallet = walletOn(service, memoryStore());
    await wallet.importRecords(files[0], { isOwn: true });
    const { added, given } = await wallet.importRecords(files[1], { isOwn: true });
    return { files, merged: await wallet.exportRecords(), added, given };
  });
  return Promise.all(found);
}

/** Return whether a pair has a record with a combination of states that is new. */
function isNews({ files, merged }) {
  const signs = ["outputs", "operations"].flatMap((kind) =>
    merged[kind].map(({ key }) =>
      [...files, merged]
        .map((each) => signOf(each[kind].find((it) => it.key === key)))
        .join(),
    ),
  );
  const isNew = signs.some((sign) => !seen.has(sign));
  for (const sign of signs) seen.add(sign);
  return isNew;
}

function signOf({ kind, state, before, expiresAt, code, ...output } = {}) {
  const { givenAt, number, each, collectedAt, spentElsewhere } = output;
  const told = [expiresAt, code, givenAt, number, each, collectedAt, spentElsewhere];
  return [kind === "mint", state, before, ...told.map(Boolean)].join();
}

/** Return one place of each field, in the smallest file that has it. */
function fieldsOf(all) {
  const fields = new Map();
  const files = all.flatMap((pair) => pair.files);
  const sizes = new Map(
    files.map((records) => [records, JSON.stringify(records).length]),
  );
  for (const records of files.sort((one, other) => sizes.get(one) - sizes.get(other))) {
    for (const path of pathsOf(records)) {
      const name = path.filter((step) => !/^\d+$/.test(step)).join(".");
      if (!fields.has(name)) fields.set(name, { name, records, path });
    }
  }
  return fields;
}

function pathsOf(value, path = []) {
  const steps = typeof value === "object" ? Object.keys(value ?? {}) : [];
  const below = steps.flatMap((step) => pathsOf(value[step], [...path, step]));
  return path.length ? [path, ...below] : below;
}

/** Return files with another value in place of a field, and one without it. */
function forgedOf({ name, records, path }) {
  return [...JUNK, undefined].map((value) => {
    const forged = structuredClone(records);
    const place = path.slice(0, -1).reduce((each, step) => each[step], forged);
    place[path.at(-1)] = value;
    const written = JSON.parse(JSON.stringify(forged));
    return { name, value, records: written, isRead: isRead(written) };
  });
}

function isRead(records) {
  try {
    return Boolean(readRecords(records));
  } catch {
    return false;
  }
}
