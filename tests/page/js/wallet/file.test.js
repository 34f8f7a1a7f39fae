// A wallet goes into a file and comes back; whatever is no such file is refused.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { before, test } from "node:test";

import {
  exportWallet as exportUnder,
  importWallet,
  makeMaterial,
  NotAWalletFileError,
  readRecords,
  WrongPassphraseError,
} from "../../../../deeds/page/static/js/wallet/file.js";
import { newSeed } from "../../../../deeds/page/static/js/wallet/seeds.js";
import {
  heldIn,
  madeBy,
  makerOn,
  outputsIn,
  people,
  smallWallet,
  walletHolding,
  walletMeeting,
  walletOn,
} from "./parts.js";

const PASSPHRASE = "Käse & Brot 😀";
let records;
let file;

/** Return records without the fields that have no value, as a file has them. */
const asWritten = (all) => JSON.parse(JSON.stringify(all));

const exportWallet = async (all, passphrase) =>
  exportUnder(all, await makeMaterial(passphrase));

/** Links in every state, and a part that is still to be split into some. */
async function richLinks({ service, store, itemId }) {
  const wallet = smallWallet({ service, store });
  const { operation } = await wallet.makeLinks(itemId, { count: 9, each: 1 });
  const [first, second] = operation.outputs.map(({ key }) =>
    store.kept.outputs.get(key),
  );
  await wallet.giveOut([first.key]);
  await wallet.setNote(first.key, "Anna");
  await wallet.claim(second, { atDoor: true, unit: "ticket" });
  await wallet.mint({ links: { count: 9, each: 2 }, unit: "hour" });
}

/** Offers that are open, done, withdrawn and begun. */
async function richOffers({ service, store }, itemId) {
  const { wallet, offers } = makerOn(service, store);
  const own = (await wallet.mint({ outputs: [{ amount: 4 }, { amount: 5 }] }))
    .operation;
  const [give, want] = [
    { itemId: own.itemId, amount: 5 },
    { itemId, amount: 2 },
  ];
  const { operation } = await offers.trade({ give, want });
  await offers.withdraw(operation.key);
  const paid = await offers.ask({ itemId: own.itemId, amount: 4 });
  await offers.complete(await service.api().offer(paid.operation.offerId));
  await wallet.finish(paid.operation.key);
  await offers.trade({ give, want });
  const asked = await offers.ask(want);
  const offer = await service.api().offer(asked.operation.offerId);
  const lost = makerOn(
    service,
    store,
    service.api(() => "lost"),
  );
  await lost.offers.ask(want);
  await lost.offers.complete({ ...offer, wants: [{ itemId: own.itemId, amount: 1 }] });
}

/** Records of every state and kind, with something under way. */
async function richRecords() {
  const { service, store, wallet, itemId } = await walletHolding(10, 20, 30);
  const given = madeBy(store, await wallet.send(itemId, 5));
  await wallet.merge(itemId);
  await richLinks({ service, store, itemId });
  await richOffers({ service, store }, itemId);
  service.take(given, "somebody's");
  await wallet.takeBack(given.key);
  const offline = walletMeeting({ service, store }, () => "lost");
  await offline.send(itemId, 7);
  await offline.mint({
    outputs: [{ amount: 1, secret: "ü. +" }],
    metadata: { name: "ü" },
  });
  await offline.claim({ amount: 3, itemId, secret: "a link's" });
  return wallet.exportRecords();
}

before(async () => {
  records = await richRecords();
  file = await exportWallet(records, PASSPHRASE);
});

test("a wallet goes into a file and comes back whole", async () => {
  const states = new Set(records.outputs.map(({ state }) => state));

  assert.deepEqual(await importWallet(file, PASSPHRASE), asWritten(records));
  const all = ["coming", "given", "held", "leaving", "offered", "spent", "void"];
  assert.deepEqual([...states].sort(), all);
});

/** Return the text of a file as an earlier version would have written it. */
async function fileOf(version, { outputs, operations, items }, context) {
  const older = /** @type {any} */ ({
    operations,
    items,
    outputs: outputs.map((output) => olderOutput(version, output)),
  });
  const encrypt = crypto.subtle.encrypt.bind(crypto.subtle);
  // The version is sealed with the rest.
  context.mock.method(crypto.subtle, "encrypt", (parameters, ...given) => {
    const head = new TextDecoder()
      .decode(parameters.additionalData)
      .replace('n":4', `n":${version}`);
    return encrypt(
      { ...parameters, additionalData: new TextEncoder().encode(head) },
      ...given,
    );
  });
  const { checksum: _, ...file } = JSON.parse(await exportWallet(older, "x"));
  return JSON.stringify({ ...file, version });
}

function olderOutput(version, { givenAt, ...output }) {
  if (version > 2) return { givenAt, ...output };
  const older = {
    ...output,
    state: output.state === "seen" ? "offered" : output.state,
  };
  if (older.before === "seen") older.before = "offered";
  return version === 1 ? older : { ...older, givenAt };
}

test("a file of the first release tells what was handed out, or may have been", async (context) => {
  const ground = await walletHolding(5, 6, 7);
  const { wallet, store, service } = ground;
  const { operation } = await wallet.mint({ outputs: [{ amount: 20 }] });
  const sent = madeBy(store, await wallet.send(operation.itemId, 2));
  await walletMeeting(ground, () => "lost").send(ground.itemId, 5);
  const shown = outputsIn(store).find(({ amount }) => amount === 6);
  for (const output of [sent, shown])
    service.take(output, `somebody's ${output.amount}`);
  await wallet.checkStates();

  const read = await importWallet(
    await fileOf(1, await wallet.exportRecords(), context),
    "x",
  );

  const told = read.outputs.map(({ state, before, amount, givenAt, createdAt }) => {
    return `${before ?? state} ${amount}${givenAt === createdAt ? " given" : ""}`;
  });
  const given = ["coming 5", "given 5", "given 7", "spent 2", "spent 6"].map(
    (it) => `${it} given`,
  );
  assert.deepEqual(told.sort(), [...given, "held 18", "spent 20"].sort());
  assert.deepEqual(readRecords(read), read);
  assert.ok(
    read.outputs.every(
      (output) => output.before !== undefined || !("before" in output),
    ),
  );
});

test("a file of the second version is read, whatever was only seen in a link", async (context) => {
  const { service, store, wallet, itemId } = await walletHolding(5);
  await wallet.claim({ amount: 3, itemId, secret: "seen" });
  const lost = walletMeeting({ service, store }, () => "lost");
  await lost.claim({ amount: 3, itemId, secret: "claimed" });
  const whole = await wallet.exportRecords();

  const read = await importWallet(await fileOf(2, whole, context), "x");

  const seedless = { ...whole, seeds: [], numbers: [] };
  assert.deepEqual(read, asWritten(seedless));
  const states = read.outputs.map(({ before, state }) => before ?? state).sort();
  assert.deepEqual(states, ["coming", "held", "seen", "seen", "void"]);
});

test("an empty wallet goes into a file", async () => {
  const empty = { outputs: [], operations: [], items: [], seeds: [], numbers: [] };

  assert.deepEqual(await importWallet(await exportWallet(empty, "x"), "x"), empty);
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

  assert.deepEqual(read, asWritten(whole));
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

test("a passphrase is the same however its letters are composed", async () => {
  await importWallet(file, PASSPHRASE.normalize("NFD"));
});

for (const wrong of ["", "Käse & Brot", "käse & Brot 😀", "Käse & Brot 😀 "]) {
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
  "data cut off": (parts) => (parts.data = parts.data.slice(0, 40)),
  "a new member": (parts) => (parts.more = 1),
  "no data": (parts) => delete parts.data,
  "no checksum": (parts) => delete parts.checksum,
  "another checksum": (parts) => (parts.checksum = "0".repeat(64)),
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
const FORGERIES = {
  "more iterations": [CHANGES["more iterations"], WrongPassphraseError],
  "another salt": [CHANGES["another salt"], WrongPassphraseError],
  "a new member": [CHANGES["a new member"], WrongPassphraseError],
  "an older version": [(parts) => (parts.version = 3), WrongPassphraseError],
  "another format": [(parts) => (parts.format = "x"), NotAWalletFileError],
  "a newer version": [(parts) => (parts.version = 5), NotAWalletFileError],
  "too few iterations": [
    (parts) => (parts.kdf.iterations = 99_999),
    NotAWalletFileError,
  ],
  "endless iterations": [(parts) => (parts.kdf.iterations = 1e15), NotAWalletFileError],
  "half an iteration": [
    (parts) => (parts.kdf.iterations = 600_000.5),
    NotAWalletFileError,
  ],
  "another derivation": [(parts) => (parts.kdf.name = "scrypt"), NotAWalletFileError],
  "another cipher": [(parts) => (parts.cipher.name = "AES-CBC"), NotAWalletFileError],
  "no derivation": [(parts) => delete parts.kdf, NotAWalletFileError],
  "data that is no base64": [(parts) => (parts.data = "ä"), NotAWalletFileError],
};

for (const [name, [change, expected]] of Object.entries(FORGERIES)) {
  test(`a changed file is refused: ${name}`, async () => {
    const { checksum: _, ...parts } = JSON.parse(file);
    change(parts);
    const checksum = createHash("sha256").update(JSON.stringify(parts)).digest("hex");

    await assert.rejects(
      importWallet(JSON.stringify({ ...parts, checksum }), PASSPHRASE),
      expected,
    );
  });
}

test("of a file without a checksum it is not known whether it was changed", async (context) => {
  const older = await fileOf(3, records, context);

  await assert.rejects(importWallet(older, "another"), {
    name: "WrongPassphraseError",
    message: "The passphrase is wrong, or the file was changed.",
  });
});

for (const text of ["", "hello", "null", "[]", "5", '"x"', "{}"]) {
  test(`what is no file of a wallet is refused: ${text}`, async () => {
    await assert.rejects(importWallet(text, "x"), NotAWalletFileError);
  });
}

/** Change the key of the seed alone: no number is of another one. */
const seedAs = (change) => (forged) => {
  forged.seeds[0].key = change(forged.seeds[0].key);
  forged.numbers = [];
};

const FORGED = {
  "no outputs": (forged) => delete forged.outputs,
  "an output of nothing": (forged) => (forged.outputs[0].amount = 0),
  "another key": (forged) => (forged.outputs[0].key = "deed_x.y"),
  "too long a secret": (forged) => (forged.outputs[0].secret = "a".repeat(33)),
  "an item id with a dot": (forged) => (forged.outputs[0].itemId = "deed_x.y"),
  "an unknown state": (forged) => (forged.outputs[0].state = "mine"),
  "no way back": (forged) => delete leaving(forged).before,
  "a way back to spent": (forged) => (leaving(forged).before = "spent"),
  "an operation that is not there": (forged) => (leaving(forged).operation = "x"),
  "no time": (forged) => (forged.outputs[0].createdAt = "now"),
  "a key that is no UUID": (forged) => (forged.operations[0].key = "a\nb"),
  "an unknown kind": (forged) => (forged.operations[0].kind = "gift"),
  "an input that is not there": (forged) => swap(forged).inputs.push("deed_x.y"),
  "a request of other inputs": (forged) => (swap(forged).body.inputs = ["+1.deed_x.y"]),
  "a request of other outputs": (forged) =>
    swap(forged).body.outputs.reverse().push("x"),
  "an unknown target": (forged) => (swap(forged).outputs[0].state = "spent"),
  "handed out at no time": (forged) => (link(forged).givenAt = null),
  "collected at no time": (forged) => (link(forged).collectedAt = "now"),
  "half a number": (forged) => (link(forged).number = 1.5),
  "a number of nothing": (forged) => delete link(forged).of,
  "a number that nobody can count on from": (forged) => (link(forged).of = 2 ** 53 - 1),
  "a note that is no text": (forged) => (link(forged).note = {}),
  "too long a note": (forged) => (link(forged).note = "a".repeat(161)),
  "a part that is not so many links": (forged) => (promise(forged).each += 1),
  "a part without a number": (forged) => delete promise(forged).number,
  "a part that promises and is handed out": (forged) =>
    (promise(forged).state = "given"),
  "a series of nothing": (forged) => (series(forged).links.count = 0),
  "a series that its mint did not ask for": (forged) =>
    (series(forged).links.count += 1),
  "a door that is none": (forged) => (forged.operations[0].atDoor = "yes"),
  "too long a unit": (forged) => (forged.items[0].unit = "a".repeat(21)),
  "an item that nobody minted": (forged) =>
    (forged.items[0].id = forged.items[0].key = "deed_x"),
  "a mint of nothing": (forged) => (forged.operations[0].body.outputs[0].amount = 0),
  "an open offer without an id": (forged) => delete made(forged).offerId,
  "an open offer whose id leads elsewhere": (forged) =>
    (made(forged).offerId = "offer_a/../x"),
  "an open offer without a time": (forged) => delete made(forged).expiresAt,
  "an open swap": (forged) => (swap(forged).state = "open"),
  "a completion of no offer": (forged) => delete completion(forged).offerId,
  "an open completion": (forged) => (completion(forged).state = "open"),
  "an offer for no time": (forged) => delete made(forged).body.expiresIn,
  "an item without a total": (forged) =>
    forged.items.push({ key: "deed_x", id: "deed_x" }),
  "no seeds": (forged) => delete forged.seeds,
  "no numbers": (forged) => delete forged.numbers,
  "numbers that are no list": (forged) => (forged.numbers = { length: 0 }),
  "seeds under a prototype's name": (forged) =>
    Object.assign(forged, JSON.parse('{"seeds": {"__proto__": []}}')),
  "a cut seed": seedAs((key) => key.slice(2)),
  "a long seed": seedAs((key) => `${key}00`),
  "a seed in capitals": seedAs((key) => `${key.slice(0, 63)}A`),
  "a seed that is no text": seedAs((key) => [key]),
  "101 seeds": (forged) =>
    forged.seeds.push(
      ...Array.from({ length: 100 }, () => ({ ...newSeed(), isOwn: undefined })),
    ),
  "no own seed": (forged) => delete forged.seeds[0].isOwn,
  "two own seeds": (forged) =>
    forged.seeds.push({ ...forged.seeds[0], key: "0".repeat(64) }),
  "numbers of a seed that is not there": (forged) =>
    (forged.numbers[0].key = forged.numbers[0].key.replace(/^\w{64}/, "0".repeat(64))),
  "numbers of no item": (forged) => (forged.numbers[0].key = forged.seeds[0].key),
  "half a number of a secret": (forged) => (forged.numbers[0].kept = 0.5),
  "a number that is a text": (forged) => (forged.numbers[0].kept = "1"),
  "a number below all": (forged) => (forged.numbers[0].given = -1),
  "a number that leaves none": (forged) => (forged.numbers[0].series = 2 ** 48),
};
const link = ({ outputs }) => outputs.find(({ number }) => number);
const promise = ({ outputs }) => outputs.find(({ each }) => each);
const series = ({ operations }) =>
  operations.find(({ kind, links }) => kind === "mint" && links?.count > 4);
const made = ({ operations }) => operations.find(({ state }) => state === "open");
const completion = ({ operations }) =>
  operations.find(({ kind }) => kind === "complete");
const leaving = ({ outputs }) => outputs.find(({ state }) => state === "leaving");
const swap = ({ operations }) => operations.find(({ kind }) => kind === "send");

for (const [name, change] of Object.entries(FORGED)) {
  test(`forged records are refused: ${name}`, () => {
    const forged = structuredClone(records);
    change(forged);

    assert.throws(() => readRecords(forged));
  });
}

test("a file with forged records is refused", async () => {
  const text = await exportWallet(
    /** @type {any} */ ({ ...records, outputs: [{ amount: 0 }] }),
    "x",
  );

  await assert.rejects(importWallet(text, "x"), NotAWalletFileError);
});

test("a kept key writes the next file, which the same passphrase opens", async () => {
  const material = structuredClone(await makeMaterial(PASSPHRASE));
  const [one, other] = [
    await exportUnder(records, material),
    await exportUnder(records, material),
  ];

  assert.equal(material.key.extractable, false);
  assert.notEqual(JSON.parse(one).cipher.iv, JSON.parse(other).cipher.iv);
  assert.deepEqual(await importWallet(other, PASSPHRASE), asWritten(records));
});

test("changes are counted from the last backup on, whatever happens meanwhile", async () => {
  const { store, wallet, itemId } = await walletHolding(5, 6);
  const count = async () => (await wallet.backup.status()).changesCount;
  assert.equal(await count(), 1);

  const { operation } = await wallet.send(itemId, 5);
  await wallet.exportRecords();
  await wallet.merge(itemId).catch(() => {});
  await wallet.takeBack(operation.outputs[0].key);
  await wallet.backup.saved(null);

  assert.equal(await count(), 1);
  const [held] = heldIn(store);
  await wallet.giveOut([held.key]);
  await wallet.giveOut([held.key]);
  await wallet.setNote(held.key, "Anna");
  await wallet.checkStates();
  await wallet.finishBegun();
  assert.equal(await count(), 3);
});

test("what a file brings into an empty wallet is backed up, and beside other deeds it is a change", async () => {
  const [{ wallet }, restored, other] = await people([5], [], [1]);
  const copy = await wallet.exportRecords();
  const backupOf = async (person) => {
    const { changesCount, at } = await person.wallet.backup.status();
    return [changesCount, Boolean(at)];
  };

  for (const each of [restored, other]) await each.wallet.importRecords(copy);

  assert.deepEqual(await backupOf(restored), [0, true]);
  await restored.wallet.importRecords(copy);
  assert.deepEqual(await backupOf(restored), [0, true]);
  await restored.wallet.mint({ outputs: [{ amount: 1 }] });
  assert.deepEqual(await backupOf(restored), [1, true]);
  assert.deepEqual(await backupOf(other), [2, false]);
});

test("codes of links are kept for a time without a network, and are in no file", async () => {
  const { wallet } = await walletHolding(5);

  await wallet.keepCodes([{ key: "a", svg: "<svg/>" }]);

  assert.deepEqual(await wallet.codes(["a", "b"]), new Map([["a", "<svg/>"]]));
  const kinds = Object.keys(await wallet.exportRecords());
  assert.deepEqual(kinds, ["outputs", "operations", "items", "seeds", "numbers"]);
});

test("where a browser keeps no keys, the backup is noted all the same", async () => {
  const { service, store } = await walletHolding(5);
  const refusing = async (wanted, apply) => {
    const refuse = (slices) => {
      const changed = apply(slices);
      if (changed.notes.some(({ material }) => material)) {
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
