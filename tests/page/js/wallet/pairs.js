// Prints what the tests of the client compare with: two files of random wallets each and what the
// page makes of them, and files that somebody has changed, each with whether the page reads it.

import { readRecords } from "../../../../deeds/page/static/js/wallet/file.js";
import { memoryStore } from "./memory_store.js";
import { walletOn } from "./parts.js";
import { Random } from "./random.js";
import { throughText, World } from "./world.js";

const STEPS_COUNT = 40;
const PAIRS_COUNT = 4;
const JUNK = [null, true, -1, 0, 1.5, 2 ** 53, "", "x", "given", "deed_1.secret-1", [], {}, [null]];

const [seedsCount, forgedCount] = process.argv.slice(2).map(Number);
const pairs = [];
for (let seed = 1; seed <= seedsCount; seed += 1) pairs.push(...(await pairsOf(new World(seed))));
const forged = Array.from({ length: forgedCount }, (_, seed) => forgedOf(new Random(seed)));
console.log(JSON.stringify({ pairs, forged }));

/** Return pairs of files of one world, each with what a wallet is that has read both. */
async function pairsOf(world) {
  const { random, service, stores, exports } = world;
  for (let step = 0; step < STEPS_COUNT; step += 1) await world.step();
  for (const store of stores) {
    exports.push(throughText(await walletOn(service, store).exportRecords()));
  }
  const found = Array.from({ length: PAIRS_COUNT }, async () => {
    const files = [random.pick(exports), random.pick(exports)];
    const wallet = walletOn(service, memoryStore());
    await wallet.importRecords(files[0]);
    const { live, added, given } = await wallet.importRecords(files[1]);
    return { files, merged: await wallet.exportRecords(), live, added, given };
  });
  return Promise.all(found);
}

/** Return a file in which one field has another value, or is missing. */
function forgedOf(random) {
  const records = structuredClone(random.pick(random.pick(pairs).files));
  let [place, name] = [records, random.pick(Object.keys(records))];
  while (typeof place[name] === "object" && Object.keys(place[name] ?? {}).length) {
    place = place[name];
    name = random.pick(Object.keys(place));
    if (random.chance(10)) break;
  }
  if (random.chance(20)) delete place[name];
  else place[name] = random.pick(JUNK);
  return { records: JSON.parse(JSON.stringify(records)), name, isRead: isRead(records) };
}

function isRead(records) {
  try {
    return Boolean(readRecords(records));
  } catch {
    return false;
  }
}
