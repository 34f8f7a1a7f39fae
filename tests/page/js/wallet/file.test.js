// A wallet is written to a file and read back; any other file is refused.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";

import {
  exportWallet as exportUnder,
  importWallet,
  makeMaterial,
  NotAWalletFileError,
  readRecords,
  WrongPassphraseError,
} from "../../../../parts/pages/static/js/wallet/file.js";
import { newSeed } from "../../../../parts/pages/static/js/wallet/seeds.js";
import {
  heldIn,
  mintAmounts,
  people,
  walletHolding,
  walletMeeting,
  walletOf,
  walletOn,
} from "./parts.js";

const PASSPHRASE = "Käse & Brot 😀";
/** Records of every state and kind, with something under way, as a wallet has written them. */
const RECORDS = readFileSync(
  new URL("../../wallet_records.json", import.meta.url),
  "utf8",
);
const records = JSON.parse(RECORDS);
let material;
let file;

const exportWallet = async (all, passphrase) =>
  exportUnder(all, await makeMaterial(passphrase));

before(async () => {
  material = structuredClone(await makeMaterial(PASSPHRASE));
  file = await exportUnder(records, material);
});

test("a wallet goes into a file and comes back whole", async () => {
  assert.deepEqual(await importWallet(file, PASSPHRASE), records);
});

test("a wallet of 5,000 outputs goes into a file", async () => {
  const many = Array.from({ length: 5000 }, (_, place) => ({
    ...records.outputs[0],
    state: "held",
    key: `deed_x.${place}`,
    itemId: "deed_x",
    secret: String(place),
  }));
  const whole = { ...records, outputs: many, operations: [], items: [] };

  const read = await importWallet(await exportWallet(whole, "x"), "x");

  assert.deepEqual(read, whole);
});

test("the file shows no secret, and no two files are alike", async () => {
  const other = await exportWallet(records, PASSPHRASE);
  const { kdf, cipher, data, checksum, ...rest } = JSON.parse(file);

  assert.deepEqual(rest, { format: "deeds wallet", version: 4 });
  assert.match(checksum, /^[0-9a-f]{64}$/);
  assert.deepEqual(
    [kdf.name, kdf.hash, kdf.iterations],
    ["PBKDF2", "SHA-256", 600_000],
  );
  assert.deepEqual([cipher.name, cipher.length], ["AES-GCM", 256]);
  assert.ok(records.outputs.every(({ secret }) => !atob(data).includes(secret)));
  const parts = JSON.parse(other);
  assert.notEqual(parts.kdf.salt, kdf.salt);
  assert.notEqual(parts.cipher.iv, cipher.iv);
});

for (const wrong of ["", "käse & Brot 😀", "Käse & Brot 😀 "]) {
  test(`a wrong passphrase opens nothing: ${JSON.stringify(wrong)}`, async () => {
    await assert.rejects(importWallet(file, wrong), WrongPassphraseError);
  });
}

/** Each changes a file, whose checksum tells that it is damaged. */
const CHANGES = {
  "more iterations": (parts) => (parts.kdf.iterations += 1),
  "another salt": (parts) => (parts.kdf.salt = btoa("0123456789abcdef")),
  "a byte of data": (parts) =>
    (parts.data = parts.data.replace(/^./, (it) => (it === "A" ? "B" : "A"))),
  "a new member": (parts) => (parts.more = 1),
  "no checksum": (parts) => delete parts.checksum,
};

for (const [name, change] of Object.entries(CHANGES)) {
  test(`a damaged file is told from a wrong passphrase: ${name}`, async () => {
    const parts = JSON.parse(file);
    change(parts);

    await assert.rejects(importWallet(JSON.stringify(parts), PASSPHRASE), {
      name: "NotAWalletFileError",
      message: /^This file is damaged: /,
    });
  });
}

/** Each changes a file on purpose, and its checksum too. */
const SEALED = {
  "more iterations": CHANGES["more iterations"],
  "a new member": CHANGES["a new member"],
};
const UNKNOWN = {
  "another format": (parts) => (parts.format = "x"),
  "an older version": (parts) => (parts.version = 3),
  "a newer version": (parts) => (parts.version = 5),
  "too few iterations": (parts) => (parts.kdf.iterations = 99_999),
  "endless iterations": (parts) => (parts.kdf.iterations = 1e15),
  "half an iteration": (parts) => (parts.kdf.iterations = 600_000.5),
  "another derivation": (parts) => (parts.kdf.name = "scrypt"),
  "another cipher": (parts) => (parts.cipher.name = "AES-CBC"),
  "no derivation": (parts) => delete parts.kdf,
  "data that is no base64": (parts) => (parts.data = "ä"),
};

for (const [changes, expected] of [
  [SEALED, WrongPassphraseError],
  [UNKNOWN, NotAWalletFileError],
]) {
  for (const [name, change] of Object.entries(changes)) {
    test(`a changed file is refused: ${name}`, async () => {
      const { checksum: _, ...parts } = JSON.parse(file);
      change(parts);
      const checksum = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
      const forged = JSON.stringify({ ...parts, checksum });

      await assert.rejects(importWallet(forged, PASSPHRASE), expected);
    });
  }
}

for (const text of ["", "hello", "null", "{}"]) {
  test(`what is no file of a wallet is refused: ${text}`, async () => {
    await assert.rejects(importWallet(text, "x"), NotAWalletFileError);
  });
}

const fileItself = (forged) => forged;
const output = ({ outputs }) => outputs[0];
const link = ({ outputs }) => outputs.find(({ number }) => number);
const promise = ({ outputs }) => outputs.find(({ each }) => each);
const operation = ({ operations }) => operations[0];
const series = ({ operations }) =>
  operations.find(({ kind, links }) => kind === "mint" && links?.count > 4);
const open = ({ operations }) => operations.find(({ state }) => state === "open");
const completion = ({ operations }) =>
  operations.find(({ kind }) => kind === "complete");
const swap = ({ operations }) => operations.find(({ kind }) => kind === "send");
const item = ({ items }) => items[0];
const seed = ({ seeds }) => seeds[0];
const numbers = (forged) => forged.numbers[0];

/** By case: a record, and the fields that are changed; undefined ones are removed. */
const CHANGED_RECORDS = {
  "no outputs": [fileItself, { outputs: undefined }],
  "an output of nothing": [output, { amount: 0 }],
  "another key": [output, { key: "deed_x.y" }],
  "too long a secret": [output, { secret: "a".repeat(33) }],
  "an item id with a dot": [output, { itemId: "deed_x.y" }],
  "an unknown state": [output, { state: "mine" }],
  "no time": [output, { createdAt: "now" }],
  "a key that is no UUID": [operation, { key: "a\nb" }],
  "an unknown kind": [operation, { kind: "gift" }],
  "handed out at no time": [link, { givenAt: null }],
  "half a number": [link, { number: 1.5 }],
  "a number of nothing": [link, { of: undefined }],
  "no scans of a ticket": [link, { scans: 0 }],
  "a number that nobody can count on from": [link, { of: 2 ** 53 - 1 }],
  "a note that is no text": [link, { note: {} }],
  "too long a note": [link, { note: "a".repeat(161) }],
  "a part without a number": [promise, { number: undefined }],
  "a part that was handed out before it is split": [promise, { givenAt: 5 }],
  "a part that promises and is handed out": [promise, { state: "given" }],
  "a door that is none": [operation, { atDoor: "yes" }],
  "too long a unit": [item, { unit: "a".repeat(21) }],
  "an item that nobody minted": [item, { id: "deed_x", key: "deed_x" }],
  "an open offer without an id": [open, { offerId: undefined }],
  "an open offer whose id leads elsewhere": [open, { offerId: "offer_a/../x" }],
  "an open offer without a time": [open, { expiresAt: undefined }],
  "an open swap": [swap, { state: "open" }],
  "a completion of no offer": [completion, { offerId: undefined }],
  "no seeds": [fileItself, { seeds: undefined }],
  "numbers that are no list": [fileItself, { numbers: { length: 0 } }],
  "no own seed": [seed, { isOwn: undefined }],
  "half a number of a secret": [numbers, { kept: 0.5 }],
  "a number below all": [numbers, { given: -1 }],
  "a number that leaves none": [numbers, { series: 2 ** 48 }],
};

/** Change the key of the seed alone: no number is of another one. */
const seedAs = (change) => (forged) => {
  seed(forged).key = change(seed(forged).key);
  forged.numbers = [];
};

const OTHERS = {
  "an input that is not there": (forged) => swap(forged).inputs.push("deed_x.y"),
  "a request of other inputs": (forged) => (swap(forged).body.inputs = ["+1.deed_x.y"]),
  "a request of other outputs": (forged) =>
    swap(forged).body.outputs.reverse().push("x"),
  "a send of nothing": (forged) =>
    (swap(forged).outputs = swap(forged).body.outputs = []),
  "an unknown target": (forged) => (swap(forged).outputs[0].state = "spent"),
  "a part that is not so many links": (forged) => (promise(forged).each += 1),
  "a series of nothing": (forged) => (series(forged).links.count = 0),
  "a series that its mint did not ask for": (forged) =>
    (series(forged).links.count += 1),
  "a mint of nothing": (forged) => (operation(forged).body.outputs[0].amount = 0),
  "an offer for no time": (forged) => delete open(forged).body.expiresIn,
  "an item without a total": (forged) =>
    forged.items.push({ key: "deed_x", id: "deed_x" }),
  "a long seed": seedAs((key) => `${key}00`),
  "a seed in capitals": seedAs((key) => `${key.slice(0, 63)}A`),
  "a seed that is no text": seedAs((key) => [key]),
  "101 seeds": (forged) =>
    forged.seeds.push(
      ...Array.from({ length: 8 }, () => ({ ...newSeed(), isOwn: undefined })),
    ),
  "two own seeds": (forged) =>
    forged.seeds.push({ ...seed(forged), key: "0".repeat(64) }),
  "numbers of a seed that is not there": (forged) =>
    (numbers(forged).key = numbers(forged).key.replace(/^\w{64}/, "0".repeat(64))),
  "numbers of no item": (forged) => (numbers(forged).key = seed(forged).key),
};

/** Fail unless records are refused once they are changed. */
function assertRefused(change) {
  const forged = JSON.parse(RECORDS);
  change(forged);
  assert.throws(() => readRecords(JSON.parse(JSON.stringify(forged))));
}

for (const [name, [find, fields]] of Object.entries(CHANGED_RECORDS)) {
  test(`forged records are refused: ${name}`, () => {
    assertRefused((forged) => Object.assign(find(forged), fields));
  });
}

for (const [name, change] of Object.entries(OTHERS)) {
  test(`forged records are refused: ${name}`, () => assertRefused(change));
}

test("records that could not be read again are not written", async () => {
  const unreadable = /** @type {any} */ ({ ...records, outputs: [{ amount: 0 }] });

  await assert.rejects(exportWallet(unreadable, "x"), NotAWalletFileError);
});

test("a file keeps of an item what is read offline, and the registry has the rest", async () => {
  const ground = await walletHolding();
  const { service, wallet } = ground;
  const metadata = { name: "A ticket", image: "x".repeat(3_000) };
  const wanted = { outputs: [{ amount: 5 }], metadata };
  const { itemId } = (await wallet.mint(wanted)).operation;
  const whole = await wallet.item(itemId);
  await walletMeeting(ground, () => "lost").mint(wanted);

  const text = await exportWallet(await wallet.exportRecords(), "x");
  const read = await importWallet(text, "x");

  const [item] = read.items;
  assert.deepEqual(item, { ...whole, metadata: '{"name":"A ticket"}', isCut: true });
  // What is still to be sent is sent as it was.
  assert.deepEqual(
    read.operations.map(({ body }) => body.metadata),
    [{ name: "A ticket" }, metadata],
  );
  const { id, total, metadata: registered } = whole;
  const api = {
    ...service.api(),
    item: async () => ({ id, total, metadata: registered }),
  };
  const phone = await walletOf(service, read, api);
  assert.deepEqual(await phone.wallet.item(itemId), item);
  assert.deepEqual(await phone.wallet.item(itemId, { isWhole: true }), whole);
  await phone.wallet.importRecords(read);
  assert.deepEqual(await phone.wallet.item(itemId), whole);
});

test("a kept key writes the next file, which the passphrase opens however its letters are composed", async () => {
  const other = await exportUnder(records, material);

  assert.equal(material.key.extractable, false);
  assert.notEqual(JSON.parse(file).cipher.iv, JSON.parse(other).cipher.iv);
  assert.deepEqual(await importWallet(other, PASSPHRASE.normalize("NFD")), records);
});

test("changes are counted from the last backup on, whatever happens meanwhile", async () => {
  const { store, wallet, itemId } = await walletHolding(5, 6);
  const count = async () => (await wallet.backup.status()).changesCount;
  assert.equal(await count(), 1);

  const { operation } = await wallet.send(itemId, 5);
  await wallet.exportRecords();
  await wallet.merge(itemId).catch(() => {});
  await wallet.takeBack(operation.outputs[0].key);
  await wallet.allRecords();
  await wallet.backup.saved(null);

  assert.equal(await count(), 1);
  const [held] = heldIn(store);
  await wallet.give([held.key]);
  await wallet.give([held.key]);
  await wallet.setNotes([held.key, "Anna"]);
  await wallet.checkStates();
  await wallet.finishBegun();
  assert.equal(await count(), 3);
});

test("what a file brings into an empty wallet is backed up, and beside other deeds it is a change", async () => {
  const [{ wallet }, restored, other] = await people([5], [], [1]);
  await wallet.keepCodes([{ key: "a", svg: "<svg/>" }]);
  const copy = await wallet.exportRecords();
  assert.doesNotMatch(JSON.stringify(copy), /svg/);
  const backupOf = async (person) => {
    const { changesCount, at } = await person.wallet.backup.status();
    return [changesCount, Boolean(at)];
  };

  for (const each of [restored, other])
    await each.wallet.importRecords(copy, { isOwn: true });

  assert.deepEqual(await backupOf(restored), [0, true]);
  await restored.wallet.importRecords(copy);
  assert.deepEqual(await backupOf(restored), [0, true]);
  await mintAmounts(restored.wallet, 1);
  assert.deepEqual(await backupOf(restored), [1, true]);
  assert.deepEqual(await backupOf(other), [2, false]);
  // Of when it was, until there is another.
  const restoredAt = async () => (await restored.wallet.backup.status()).restored?.at;
  assert.equal(await restoredAt(), copy.at);
  await restored.wallet.exportRecords();
  await restored.wallet.backup.saved(null);
  assert.equal(await restoredAt(), undefined);
});

test("where a browser keeps no keys, the backup is noted all the same", async () => {
  const { service, store } = await walletHolding(5);
  const refusing = async (wanted, apply) => {
    const refuse = (slices) => {
      const changed = apply(slices);
      if ([...changed.notes.values()].some(({ material }) => material)) {
        throw new DOMException("no keys here", "DataCloneError");
      }
      return changed;
    };
    return store.update(wanted, refuse);
  };
  const wallet = walletOn(service, { ...store, update: refusing });

  await wallet.exportRecords();
  await wallet.backup.saved({ key: "a key" });

  const { changesCount, material, at } = await wallet.backup.status();
  assert.deepEqual([changesCount, material], [0, null]);
  assert.ok(at);
});
