// Lists of doors: what several browsers know of the tickets of one deed adds up, and
// nobody can claim anything with it.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  joinLists,
  partsOfList,
  rowsOf,
  ticketId,
  writeList,
} from "../../../../parts/pages/static/js/wallet/door_list.js";
import {
  holdingOf,
  holdingWanted,
} from "../../../../parts/pages/static/js/wallet/holdings.js";
import {
  amountsByState,
  assertAllIsHere,
  hasCode,
  fileOf,
  keysOf,
  madeBy,
  makerOn,
  minted,
  now,
  outputIn,
  outputsIn,
  pass,
  walletOf,
  walletOn,
} from "./parts.js";
import { Random } from "./random.js";

const AT_DOOR = { atDoor: true };
const ID = "0123456789abcdef";
const ROW = { id: ID, letter: "a", at: 2000, amount: 2 };

/** Return the maker of three tickets that are handed out, and doors to them. */
async function party(doorsCount = 2) {
  pass(60);
  const maker = await minted({ count: 3, each: 1 });
  await maker.wallet.setNote(maker.keys[1], "Anna, table 4");
  await maker.wallet.give(maker.keys);
  const tickets = maker.keys.map((key) => outputIn(maker.store, key));
  const { itemId } = maker;
  const doors = await Promise.all(
    Array.from({ length: doorsCount }, async () => {
      const door = makerOn(maker.service);
      await door.wallet.item(itemId);
      return { ...door, itemId };
    }),
  );
  return { maker, tickets, doors, itemId };
}

const linksOf = ({ store, itemId }) =>
  store.read(holdingWanted(itemId), (slices) => holdingOf(slices, itemId).links);

const listOf = async (browser) =>
  browser.wallet.doorList(browser.itemId, await linksOf(browser));

/** Let a ticket in at a door, with what its lists say of it. */
async function letIn({ wallet }, ticket) {
  const knows = await wallet.listed(ticket);
  return wallet.claim(ticket, { ...AT_DOOR, knows });
}

const undo = ({ wallet, itemId }, { key }) => wallet.undoAdmission(itemId, key);

/** Let one browser take in another one's list, if that has any ticket. */
async function handOver(from, to) {
  const text = await listOf(from);
  if (rowsOf(text).length) await to.wallet.takeInList(to.itemId, text);
}

/** Return the undone admissions of which a browser can make the new link. */
async function leftAt(browser) {
  const left = (await linksOf(browser)).filter(({ isLeftHere }) => isLeftHere);
  return left.map(({ output }) => output);
}

const statesAt = async (browser) => (await linksOf(browser)).map(({ state }) => state);

/** Return another copy of a wallet, from its file. */
const copyFrom = async ({ service, itemId }, backup) => ({
  ...(await walletOf(service, backup)),
  itemId,
});

/** Return number and state of each ticket, with its note. */
const told = async (browser) =>
  (await linksOf(browser)).map(({ output: { number = "", note = "" }, state }) =>
    `${number} ${state} ${note}`.trim(),
  );

test("what two doors let in adds up at the maker's, once however often it is handed over", async () => {
  const { maker, tickets, doors } = await party();
  for (const [place, door] of doors.entries()) await letIn(door, tickets[place]);
  await handOver(doors[0], doors[1]);
  await maker.wallet.checkStates();
  const claimed = ["1 claimed", "2 claimed Anna, table 4", "3 waiting"];
  assert.deepEqual(await told(maker), claimed);

  for (const door of [...doors, ...doors]) await handOver(door, maker);

  const admitted = ["1 admitted", "2 admitted Anna, table 4", "3 waiting"];
  assert.deepEqual(await told(maker), admitted);
  const look = (slices) => holdingOf(slices, maker.itemId).admitted;
  assert.equal(await maker.store.read(holdingWanted(maker.itemId), look), 2);
});

test("a ticket that its guest had claimed at home is let in without its number, once", async () => {
  const { maker, tickets, doors } = await party();
  const guest = makerOn(maker.service);
  const ticket = madeBy(guest.store, await guest.wallet.claim(tickets[0]));
  await letIn(doors[0], ticket);

  await maker.wallet.checkStates();
  for (const door of [doors[0], doors[0]]) await handOver(door, maker);

  const all = ["1 claimed", "2 waiting Anna, table 4", "3 waiting", "admitted"];
  assert.deepEqual(await told(maker), all);
  const copy = await copyFrom(maker, await fileOf(maker));
  assert.deepEqual(await told(copy), all);
});

test("a door that was given the maker's list knows number, note and what was taken back", async () => {
  const { maker, tickets, doors } = await party();
  await maker.wallet.takeBack(tickets[2].key);
  // One has scanned it before it got the list.
  await letIn(doors[1], tickets[2]);
  for (const door of doors) await handOver(maker, door);

  for (const door of doors) {
    assert.deepEqual(await told(door), [
      "1 expected",
      "2 expected Anna, table 4",
      "3 taken back",
      "3 expected",
    ]);
  }
  const [{ wallet }] = doors;
  assert.equal((await wallet.listed(tickets[2]))?.letter, "b");
  await letIn(doors[0], tickets[1]);
  assert.equal((await told(doors[0]))[1], "2 admitted Anna, table 4");
  assert.equal(await wallet.listed({ ...tickets[2], secret: "x" }), undefined);
});

test("how often a ticket was shown is kept, and the most that a copy of the door knows", async () => {
  const { maker, tickets, doors } = await party(1);
  const [door] = doors;
  const scanAgain = ({ wallet }) => wallet.scannedAgain(tickets[0].key);
  await letIn(door, tickets[0]);
  assert.equal(await scanAgain(door), 2);
  const copy = await copyFrom(maker, await fileOf(door));
  assert.equal(await scanAgain(door), 3);

  await copy.wallet.importRecords(await fileOf(door));

  for (const each of [door, copy]) assert.equal(await scanAgain(each), 4);
});

test("an admission that is undone gives the guest a new link of its number", async () => {
  const { maker, tickets, doors } = await party(1);
  const [door] = doors;
  await door.wallet.claim(tickets[1], { ...AT_DOOR, knows: { number: 2, of: 3 } });
  pass(5);

  const fresh = await undo(door, tickets[1]);

  assert.deepEqual(
    [fresh?.state, fresh?.number, fresh?.of, fresh?.issue],
    ["given", 2, 3, 2],
  );
  assert.deepEqual(await told(door), ["2 undone", "2 waiting"]);
  await maker.wallet.checkStates();
  await handOver(door, maker);
  assert.equal((await told(maker))[1], "2 undone Anna, table 4");
  // Back at the door it is let in again.
  pass(5);
  const { operation } = await letIn(door, fresh);
  assert.equal(operation.state, "done");
  assert.deepEqual(await told(door), ["2 undone", "2 admitted"]);
  assert.deepEqual(amountsByState(door.store).held, [1]);
});

test("where the maker has undone it, the door that let it in still makes the new link", async () => {
  const { maker, tickets, doors } = await party(2);
  const [door, other] = doors;
  await handOver(maker, door);
  await letIn(door, tickets[1]);
  await handOver(door, maker);
  await maker.wallet.checkStates();
  // Within a second, or by a clock that is behind the door's.
  await undo(maker, tickets[1]);
  for (const each of doors) await handOver(maker, each);
  assert.deepEqual(keysOf(await leftAt(door)), [tickets[1].key]);
  for (const each of [maker, other]) assert.deepEqual(await leftAt(each), []);

  const fresh = await undo(door, tickets[1]);

  assert.deepEqual(
    [fresh?.state, fresh?.number, fresh?.issue, fresh?.note],
    ["given", 2, 2, "Anna, table 4"],
  );
  assert.deepEqual(await leftAt(door), []);
  assert.equal(await undo(door, tickets[1]), null);
});

test("in whatever order lists come and admissions are undone, each guest gets one new link", async () => {
  for (let seed = 0; seed < 40; seed += 1) {
    const random = new Random(seed);
    const { maker, tickets, doors } = await party(2);
    const all = [maker, ...doors];
    const outside = [...tickets];
    const steps = {
      async letIn() {
        const [ticket] = outside.splice(0, 1);
        if (ticket) await letIn(random.pick(doors), ticket);
      },
      share: () => handOver(random.pick(all), random.pick(all)),
      async undo() {
        const browser = random.pick(all);
        const wanted = (await linksOf(browser)).filter(
          (link) => link.state === "admitted" || link.isLeftHere,
        );
        if (wanted.length) await undo(browser, random.pick(wanted).output);
      },
    };
    for (let step = 0; step < 24; step += 1) {
      pass(random.below(2));
      await steps[random.pick(Object.keys(steps))]();
    }
    await maker.wallet.checkStates();
    for (const from of [...all, ...all]) for (const to of all) await handOver(from, to);

    for (const door of doors) {
      for (const output of await leftAt(door)) assert.ok(await undo(door, output));
      assert.deepEqual(await leftAt(door), []);
    }
    const links = await linksOf(maker);
    const told = new Map(links.map(({ output, state }) => [output.key, state]));
    for (const door of doors) {
      for (const { output, state } of await linksOf(door))
        assert.equal(state, told.get(output.key) ?? state, `${seed}`);
    }
    const given = doors.flatMap(({ store }) => amountsByState(store).given ?? []);
    const undone = links.filter(({ state }) => state === "undone");
    assert.equal(given.length, undone.length, `${seed}`);
    assertAllIsHere(maker.service, ...all.map(({ store }) => store));
  }
});

test("of what only a list says, undoing takes the mark away, and an older list does not bring it back", async () => {
  const { maker, tickets, doors } = await party(1);
  await letIn(doors[0], tickets[0]);
  const older = [await listOf(doors[0]), writeList(maker.itemId, [ROW])];
  await maker.wallet.checkStates();
  pass(5);
  for (const text of older) await maker.wallet.takeInList(maker.itemId, text);
  pass(5);

  for (const ticket of [tickets[0], { key: ID }])
    assert.equal(await undo(maker, ticket), null);
  for (const text of older) await maker.wallet.takeInList(maker.itemId, text);

  const states = ["undone", "waiting", "waiting", "undone"];
  assert.deepEqual(await statesAt(maker), states);
});

test("a copy from an old backup learns from lists what it can only guess", async () => {
  const { maker, tickets, doors } = await party(1);
  const backup = await fileOf(maker);
  await letIn(doors[0], tickets[0]);
  await maker.wallet.takeBack(tickets[1].key);
  const copy = await copyFrom(maker, backup);
  // An open page may ask before it looks.
  await copy.wallet.checkRound();
  const guessed = ["1 moved", "2 moved Anna, table 4", "3 waiting", "waiting"];
  assert.deepEqual(await told(copy), guessed);

  for (const each of [...doors, maker]) await handOver(each, copy);

  const learned = [
    "1 admitted",
    "2 taken back Anna, table 4",
    "2 waiting Anna, table 4",
    "3 waiting",
  ];
  assert.deepEqual(await told(copy), learned);
  const next = await copyFrom(copy, await fileOf(copy));
  assert.deepEqual(await told(next), learned);
});

test("what a list said before it was found here is there once", async () => {
  const { maker, tickets, doors } = await party(1);
  const [door] = doors;
  const backup = await fileOf(maker);
  const again = madeBy(maker.store, await maker.wallet.takeBack(tickets[1].key));
  await maker.wallet.give([again.key]);
  await handOver(maker, door);
  await letIn(door, again);
  const copy = await copyFrom(maker, backup);
  await handOver(door, copy);
  await copy.wallet.look();

  await handOver(door, copy);

  const states = ["waiting", "taken back", "admitted", "waiting"];
  assert.deepEqual(await statesAt(copy), states);
});

test("a door that refused a ticket learns from a newer list that it was taken back", async () => {
  const { maker, tickets, doors } = await party(1);
  const [door] = doors;
  await handOver(maker, door);
  await maker.wallet.takeBack(tickets[1].key);
  await letIn(door, tickets[1]);

  await handOver(maker, door);

  assert.equal((await door.wallet.listed(tickets[1]))?.letter, "b");
  assert.equal((await told(door))[1], "2 taken back Anna, table 4");
});

test("the third issue of a number, which a door makes, has no link's own secret", async () => {
  const { maker, tickets, doors } = await party(1);
  const [door] = doors;
  await handOver(maker, door);
  await letIn(door, tickets[0]);
  const second = await undo(door, tickets[0]);

  await door.wallet.takeBack(second?.key);

  const [{ key: _, ...numbers }] = door.store.kept.numbers.values();
  assert.deepEqual(numbers, { kept: 1, given: 1 });
  assert.ok(outputsIn(door.store).some(({ issue }) => issue === 3));
});

test("no list holds a secret, nor what a secret that a person made is guessed from", async () => {
  const { maker, tickets } = await party(0);
  const isStrong = async (secret) => secret !== tickets[0].secret;
  const wallet = walletOn(maker.service, maker.store, undefined, { isStrong });

  const text = await listOf({ ...maker, wallet });

  for (const { secret } of tickets) assert.ok(!text.includes(secret));
  const ids = rowsOf(text).map(({ id }) => id);
  assert.deepEqual(ids, await Promise.all(tickets.slice(1).map(ticketId)));
});

test("a list is taken in for its own deed only", async () => {
  const { maker, itemId } = await party(0);

  for (const text of [
    "",
    "https://deeds.test/claim",
    writeList(itemId, []),
    writeList(`${itemId}0`, [ROW]),
  ])
    await assert.rejects(maker.wallet.takeInList(itemId, text), hasCode("no_list"));
});

test("a list is read as it was written, and what is not right in it is left out", () => {
  const named = {
    ...ROW,
    id: ID.replace("0", "1"),
    number: 17,
    of: 200,
    issue: 2,
    note: "a 1 2",
  };
  const noted = { ...ROW, id: ID.replace("0", "2"), note: "no number" };
  const rows = [ROW, named, noted];

  assert.deepEqual(rowsOf(writeList("deed_1", rows)), rows);
  for (const line of [
    `${ID} x1 1`,
    `${ID} a1 0`,
    `${ID} a1 9007199254740993`,
    `${ID} a1 1 9999999999 1 1`,
    `${ID} a1 1 1 1 1 ${"n".repeat(81)}`,
    `${ID.slice(1)} a1 1`,
  ])
    assert.deepEqual(rowsOf(`head\n${line}`), [], line);
});

test("of two lists the later word on a ticket is true, and its number stays known", () => {
  const numbered = { ...ROW, letter: "n", at: 0, number: 3, of: 9, note: "Anna" };
  const undone = { ...ROW, letter: "u", at: 4000 };
  const [known, one, other] = [numbered, ROW, undone].map((row) =>
    writeList("deed_1", [row]),
  );

  const expected = [{ ...undone, number: 3, of: 9, note: "Anna" }];
  for (const texts of [
    [known, one, other],
    [other, one, known],
    [one, known, other, one],
  ])
    assert.deepEqual(rowsOf(joinLists("deed_1", ...texts)), expected);
  assert.equal(joinLists("deed_1", undefined, "x"), undefined);
});

test("a list too long for one code is several, which have all of it", () => {
  const rows = Array.from({ length: 40 }, (_, place) => ({
    ...ROW,
    id: (place + 16).toString(16).padStart(16, "0"),
  }));

  const parts = partsOfList(writeList("deed_1", rows), 300);

  assert.ok(parts.length > 3 && parts.every(({ length }) => length <= 300));
  assert.deepEqual(rowsOf(joinLists("deed_1", ...parts)), rows);
});

test("lists are joined in any order and any number of times, also those of one second", () => {
  for (let seed = 0; seed < 300; seed += 1) {
    const random = new Random(seed);
    const texts = Array.from({ length: 4 }, () => {
      const letter = random.pick(["a", "u", "b", "n"]);
      const [at, amount] = [1000 * random.below(2), 1 + random.below(2)];
      return writeList("deed_1", [{ ...ROW, letter, at, amount }]);
    });
    const joined = joinLists("deed_1", ...texts);

    assert.equal(joinLists("deed_1", ...texts.toReversed(), ...texts), joined);
    const [one, two, ...more] = texts;
    const parts = [joinLists("deed_1", two, ...more), joinLists("deed_1", one, two)];
    assert.equal(joinLists("deed_1", ...parts), joined);
  }
});

test("what a door with a wrong clock let in can be undone, for good", async () => {
  const { maker, tickets, doors } = await party(1);
  await letIn(doors[0], tickets[0]);
  await maker.wallet.checkStates();
  const at = now() + 40 * 365 * 24 * 60 * 60_000;
  const id = await ticketId(tickets[0]);
  const ahead = writeList(maker.itemId, [
    { ...ROW, id, at },
    { ...ROW, at },
  ]);

  for (const browser of [maker, ...doors]) {
    const { wallet, itemId } = browser;
    await wallet.takeInList(itemId, ahead);
    for (const ticket of [tickets[0], { key: ID }]) {
      await undo(browser, ticket);
      await wallet.takeInList(itemId, ahead);
    }

    const states = await statesAt(browser);
    assert.equal(states.filter((state) => state === "undone").length, 2);
    assert.ok(!states.includes("admitted"), states.join());
  }
});
