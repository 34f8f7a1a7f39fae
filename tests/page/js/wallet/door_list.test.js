// Guest lists: they merge what several browsers know of the tickets of one deed, and
// nobody can claim anything with them.

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
  readHolding,
  withSaid,
} from "../../../../parts/pages/static/js/wallet/holdings.js";
import {
  amountsByState,
  assertAllIsHere,
  fileOf,
  hasCode,
  linkFrom,
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
const SAYS_1 = { knows: { said: 1 } };
const ID = "0123456789abcdef";
const ROW = { id: ID, letter: "a", at: 2000, amount: 2 };

/** Return the maker of three tickets, handed out or not, and doors to them, or the one. */
async function party(doorsCount = 1, areGiven = true) {
  pass(60);
  const maker = await minted({ count: 3, each: 1 });
  await maker.wallet.setNotes([maker.keys[1], "Anna, table 4"]);
  if (areGiven) await maker.wallet.give(maker.keys);
  const tickets = maker.keys.map((key) => outputIn(maker.store, key));
  const { itemId } = maker;
  const doors = await Promise.all(
    Array.from({ length: doorsCount }, async () => {
      const door = makerOn(maker.service);
      await door.wallet.item(itemId);
      return { ...door, itemId };
    }),
  );
  return { maker, tickets, doors, door: doors[0], itemId };
}

/** Return what a guest of their own holds who has claimed a ticket. */
async function claimAtHome({ service }, ticket, options = {}) {
  const guest = makerOn(service);
  return madeBy(guest.store, await guest.wallet.claim(ticket, options));
}

const linksOf = async ({ store, itemId }) => (await readHolding(store, itemId)).links;

const listOf = async (browser) =>
  browser.wallet.doorList(browser.itemId, await linksOf(browser));

/** Let in a ticket at a door, with what its lists say of it. */
const letIn = async ({ wallet }, ticket) =>
  wallet.claim(ticket, { ...AT_DOOR, knows: await wallet.listed(ticket.key) });

/** Let one browser take in another one's list, if that has any ticket. */
async function handOver(from, to) {
  const text = await listOf(from);
  if (rowsOf(text).length) await to.wallet.takeInList(to.itemId, text);
}

/** Return the undone admissions whose new link this browser has still to make. */
const leftAt = async (browser) =>
  (await linksOf(browser)).filter(({ isLeftHere }) => isLeftHere);

/** Return another copy of a wallet, from its file of now or this one. */
const copyFrom = async (browser, backup = fileOf(browser)) => ({
  ...(await walletOf(browser.service, await backup)),
  itemId: browser.itemId,
});

/** Return key and state of each ticket. */
const toldByKey = async (browser) =>
  (await linksOf(browser)).map(({ output, state }) => [output.key, state]);

/** Return number and state of each ticket, with its note. */
const told = async (browser) =>
  (await linksOf(browser)).map(({ output: { number = "", note = "" }, state }) =>
    `${number} ${state} ${note}`.trim(),
  );

async function assertTold(browser, rows) {
  assert.deepEqual(await told(browser), rows);
}

test("a ticket that its guest had claimed at home is let in without its number, once", async () => {
  const { maker, tickets, door } = await party();
  const ticket = await claimAtHome(maker, tickets[0], SAYS_1);
  await door.wallet.claim(ticket, { ...AT_DOOR, knows: ticket });

  await maker.wallet.checkStates();
  for (const from of [door, door]) await handOver(from, maker);

  const all = ["1 claimed", "2 waiting Anna, table 4", "3 waiting", "admitted"];
  await assertTold(maker, all);
  const copy = await copyFrom(maker);
  await assertTold(copy, all);
  // Each guest has one row there.
  const [row] = withSaid(await linksOf(copy));
  assert.equal(row.by?.said, 1);
  const fresh = await door.wallet.undoAdmission(maker.itemId, ticket.key);
  assert.equal(fresh?.said, 1);
});

test("a ticket, and the one admission that says it is that, are one row", () => {
  const links = [
    "claimed/1",
    "claimed/2",
    "claimed///3, Main Street",
    "claimed///3–4 · Anna",
    "undone//1",
    "admitted//1",
    "admitted//2",
    "admitted//2",
    "undone//3",
  ].map((text) => {
    const [state, number, said, note] = text.split("/");
    const output = { number: +number || undefined, said: +said, note };
    return { state, at: 1, output };
  });

  const rows = withSaid(/** @type {any} */ (links));

  assert.deepEqual(
    rows.map(({ state, by, said }) => `${state} by ${by?.said}, ${said?.count} said`),
    [
      "admitted by 1, 1 said",
      "claimed by undefined, 2 said",
      "claimed by undefined, undefined said",
      "undone by 3, undefined said",
      "admitted by undefined, undefined said",
      "admitted by undefined, undefined said",
    ],
  );
});

test("who was let in by hand and shows a code later counts once", async () => {
  const { maker, tickets, door, itemId } = await party();
  const one = await claimAtHome(maker, tickets[1]);
  const other = await claimAtHome(maker, tickets[2]);
  await maker.wallet.checkStates();
  await maker.wallet.letInByHand(tickets[1].key);
  const admitted = async () => {
    await handOver(door, maker);
    return (await readHolding(maker.store, itemId)).admitted;
  };
  assert.equal(await admitted(), 1);

  await door.wallet.claim(one, { ...AT_DOOR, knows: { said: 2 } });
  assert.equal(await admitted(), 1);
  await door.wallet.claim(other, AT_DOOR);
  assert.equal(await admitted(), 2);
  const copy = await copyFrom(maker);
  assert.equal((await readHolding(copy.store, itemId)).admitted, 2);
  await maker.wallet.undoAdmission(itemId, tickets[1].key);
  assert.equal((await told(maker))[1], "2 undone Anna, table 4");
});

test("a link of several keeps its numbers and its note at a door, and is there once", async () => {
  const { maker, tickets, door, itemId } = await party();
  const atHome = await claimAtHome(maker, tickets[2]);
  await maker.wallet.takeBack(tickets[0].key, tickets[1].key);
  const link = madeBy(maker.store, await maker.wallet.send(itemId, 2));
  await maker.wallet.setNotes([link.key, "1–2 · Pat + 1"]);
  await handOver(maker, door);
  await door.wallet.claim(atHome, AT_DOOR);
  const ofTwo = async (browser) =>
    (await told(browser)).filter((each) => /Pat/.test(each));
  assert.deepEqual(await ofTwo(door), ["expected 1–2 · Pat + 1"]);

  await letIn(door, link);
  await maker.wallet.checkStates();
  await handOver(door, maker);
  // A door without the list knows no note.
  const nameless = { ...ROW, id: await ticketId(link) };
  await maker.wallet.takeInList(itemId, writeList(itemId, [nameless]));

  assert.deepEqual(await ofTwo(door), ["admitted 1–2 · Pat + 1"]);
  assert.deepEqual(await ofTwo(maker), ["admitted Pat + 1"]);
});

test("what a code said stays with what was claimed by it, until that is sent on", async () => {
  const { maker, tickets, itemId } = await party(0);
  const guest = makerOn(maker.service);
  const { said } = madeBy(guest.store, await guest.wallet.claim(tickets[0], SAYS_1));
  const copy = await walletOf(maker.service, await fileOf(guest));
  const sent = await linkFrom({ ...guest, itemId }, 1);

  const kept = outputsIn(copy.store).find(({ state }) => state === "held");
  assert.deepEqual([said, kept?.said], [1, 1]);
  assert.ok(!JSON.stringify(sent).includes("said"));
});

test("who says a number at a door is told beside its link, and counts nowhere", async () => {
  const { maker, tickets, itemId } = await party(0);
  await maker.wallet.claim(tickets[0], AT_DOOR);

  // The last one's time is still to come.
  await maker.wallet.takeInList(
    itemId,
    `deeds door list 1 ${itemId}
0000000000000000 a5 1 0 2 1
1111111111111111 a2 1 0 2 1
2222222222222222 a2 1 0 1 1
3333333333333333 u2 1 0 3 1
4444444444444444 azzzzzzzz 1 0 3 1`,
  );

  const links = withSaid(await linksOf(maker)).slice(0, 3);
  assert.deepEqual(
    links.map(({ state, said }) => [state, said]),
    [
      ["admitted", { count: 1, at: 2000 }],
      ["waiting", { count: 2, at: 5000 }],
      ["waiting", undefined],
    ],
  );
});

test("how often a ticket was shown is kept, and the most that a copy of the door knows", async () => {
  const { maker, tickets, door } = await party();
  const { wallet, store } = door;
  const [{ key }] = tickets;
  await wallet.claim(tickets[0], AT_DOOR);
  assert.equal(await wallet.scannedAgain(key), 2);
  const copy = await copyFrom(door);
  assert.equal(await wallet.scannedAgain(key), 3);

  await copy.wallet.importRecords(await fileOf(door));

  for (const door of [walletOn(maker.service, store), copy.wallet])
    assert.equal(await door.scannedAgain(key), 4);
});

test("an admission that is undone gives the guest a new link of its number", async () => {
  const { maker, tickets, door } = await party();
  await door.wallet.claim(tickets[1], { ...AT_DOOR, knows: { number: 2, of: 3 } });
  pass(5);

  const fresh = await door.wallet.undoAdmission(door.itemId, tickets[1].key);

  assert.deepEqual(
    [fresh?.state, fresh?.number, fresh?.of, fresh?.issue],
    ["given", 2, 3, 2],
  );
  await assertTold(door, ["2 undone", "2 waiting"]);
  await maker.wallet.checkStates();
  await handOver(door, maker);
  assert.equal((await told(maker))[1], "2 undone Anna, table 4");
  // Whoever claims it at home is not let in by that.
  await makerOn(maker.service).wallet.claim(/** @type {any} */ (fresh));
  await door.wallet.checkStates();
  await assertTold(door, ["2 undone", "2 claimed"]);
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
        const door = random.pick(doors);
        if (ticket) await letIn(door, ticket);
      },
      share: () => handOver(random.pick(all), random.pick(all)),
      async undo() {
        const { wallet, itemId, ...browser } = random.pick(all);
        const links = await linksOf({ ...browser, itemId });
        const wanted = links.filter(
          (link) => link.state === "admitted" || link.isLeftHere,
        );
        const link = wanted.length && random.pick(wanted);
        if (link) await wallet.undoAdmission(itemId, link.output.key);
      },
    };
    for (let step = 0; step < 24; step += 1) {
      pass(random.below(2));
      await steps[random.pick(Object.keys(steps))]();
    }
    await maker.wallet.checkStates();
    for (const door of doors) await handOver(door, maker);
    for (const door of doors) await handOver(maker, door);

    for (const { wallet, ...door } of doors) {
      for (const { output } of await leftAt(door))
        assert.ok(await wallet.undoAdmission(door.itemId, output.key));
      assert.deepEqual(await leftAt(door), []);
    }
    const told = await toldByKey(maker);
    const undone = told.filter(([, state]) => state === "undone");
    for (const door of doors) {
      for (const { output, state } of await linksOf(door)) {
        const known = told.find(([key]) => key === output.key);
        if (known) assert.equal(state, known[1], `${seed}`);
      }
    }
    const given = doors.map(({ store }) => amountsByState(store).given ?? []);
    assert.equal(given.flat().length, undone.length, `${seed}`);
    assertAllIsHere(maker.service, ...all.map(({ store }) => store));
  }
});

test("a copy from an old backup learns from lists what it can only guess", async () => {
  const { maker, tickets, door } = await party();
  const backup = await fileOf(maker);
  await door.wallet.claim(tickets[0], AT_DOOR);
  await maker.wallet.takeBack(tickets[1].key);
  const copy = await copyFrom(maker, backup);
  // An open page may ask before it looks.
  await copy.wallet.checkRound();
  const guessed = ["1 moved", "2 moved Anna, table 4", "3 waiting", "waiting"];
  await assertTold(copy, guessed);

  for (const each of [door, maker]) await handOver(each, copy);

  const learned = [
    "1 admitted",
    "2 taken back Anna, table 4",
    "2 waiting Anna, table 4",
    "3 waiting",
  ];
  await assertTold(copy, learned);
  const next = await copyFrom(copy);
  await assertTold(next, learned);
});

test("a link that was let in is never left again, whatever is undone or forgotten since", async () => {
  const { maker, tickets, door, itemId } = await party(1, false);
  const { store, wallet } = maker;
  const [{ key }, other] = tickets;
  await letIn(door, tickets[0]);
  const assertLeft = async (...rows) => {
    await assertTold(maker, [...rows, "2 here Anna, table 4", "3 here"]);
    const { sum, parts } = await readHolding(store, itemId);
    assert.deepEqual([sum, parts.length], [2, 2]);
  };

  await handOver(door, maker);
  await assertLeft("1 admitted");
  await wallet.undoAdmission(itemId, key);
  await assertLeft("1 undone");
  await wallet.checkListed(itemId);
  await wallet.forgetLists(itemId);
  await assertLeft();

  // At a door the service decides: a list may be wrong.
  const back = { ...ROW, id: await ticketId(other), letter: "b", amount: 1 };
  await wallet.takeInList(itemId, writeList(itemId, [back]));
  const { operation } = await wallet.claim(other, AT_DOOR);
  assert.equal(operation.state, "done");
});

test("what a copy of the maker's wallet let in is not left with the maker", async () => {
  const { maker, tickets, itemId } = await party(0);
  const copy = await copyFrom(maker);
  await copy.wallet.claim(tickets[0], AT_DOOR);
  await maker.wallet.checkStates();
  await maker.wallet.look();

  await handOver(copy, maker);

  const { sum, admitted } = await readHolding(maker.store, itemId);
  assert.deepEqual([sum, admitted], [0, 1]);
  await copy.wallet.undoAdmission(itemId, tickets[0].key);
  await handOver(copy, maker);
  await assertTold(maker, [
    "1 undone",
    "1 waiting",
    "2 waiting Anna, table 4",
    "3 waiting",
  ]);
});

test("what a list said before it was found here is there once", async () => {
  const { maker, tickets, door } = await party();
  const backup = await fileOf(maker);
  const again = madeBy(maker.store, await maker.wallet.takeBack(tickets[1].key));
  await maker.wallet.give([again.key]);
  await handOver(maker, door);
  await letIn(door, again);
  const copy = await copyFrom(maker, backup);
  await handOver(door, copy);
  await copy.wallet.look();

  await handOver(door, copy);

  await assertTold(copy, [
    "1 waiting",
    "2 taken back Anna, table 4",
    "2 admitted Anna, table 4",
    "3 waiting",
  ]);
});

test("a door that refused a ticket learns from a newer list that it was taken back", async () => {
  const { maker, tickets, door } = await party();
  await handOver(maker, door);
  await maker.wallet.takeBack(tickets[1].key);
  await door.wallet.claim(tickets[1], AT_DOOR);

  await handOver(maker, door);

  assert.equal((await door.wallet.listed(tickets[1].key))?.letter, "b");
  assert.equal(await door.wallet.listed(`${tickets[1].key}x`), undefined);
  await assertTold(door, [
    "1 expected",
    "2 taken back Anna, table 4",
    "2 expected Anna, table 4",
    "3 expected",
  ]);
});

test("the third issue of a number, which a door makes, has no link's own secret", async () => {
  const { maker, tickets, door, itemId } = await party();
  await handOver(maker, door);
  await letIn(door, tickets[0]);
  const second = await door.wallet.undoAdmission(itemId, tickets[0].key);

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

test("a list is not believed beyond what there can be", async () => {
  const { maker, door, itemId } = await party();
  const takeIn = (...rows) => door.wallet.takeInList(itemId, writeList(itemId, rows));
  const told = async () =>
    (await linksOf(door)).map(({ state, at, output }) => [state, at, output.amount]);
  // Three tickets were made, of one unit each.
  const far = { ...ROW, id: ID.replace("0", "f"), at: Date.UTC(91_000, 0) };
  await takeIn({ ...ROW, amount: 4 }, far);
  assert.deepEqual(await told(), [["admitted", 0, 2]]);
  await takeIn({ ...far, letter: "u", at: 5000 });
  assert.deepEqual(await told(), [["undone", 5000, 2]]);

  const many = Array.from({ length: 30 }, (_, place) => ({
    ...ROW,
    id: `${place}`.padStart(16, "0"),
  }));
  await assert.rejects(takeIn(...many), hasCode("no_list"));
  await door.wallet.forgetLists(itemId);
  await takeIn(...many);
  assert.equal((await told()).length, 30);

  const large = `${writeList(itemId, [ROW])}\n`.padEnd(8_000_001);
  await assert.rejects(maker.wallet.takeInList(itemId, large), hasCode("no_list"));
});

test("what lists said is forgotten, and what was done here is not", async () => {
  const { maker, tickets, doors, itemId } = await party(2);
  const [door, other] = doors;
  for (const ticket of tickets.slice(0, 2)) await door.wallet.claim(ticket, AT_DOOR);
  await door.wallet.undoAdmission(itemId, tickets[0].key);
  await other.wallet.claim(tickets[2], AT_DOOR);
  const before = [await toldByKey(maker), await toldByKey(door)];

  await handOver(door, maker);
  await handOver(other, maker);
  await handOver(maker, door);
  const undone = { id: await ticketId(tickets[1]), letter: "u", at: now() + 60_000 };
  await door.wallet.takeInList(itemId, writeList(itemId, [{ ...ROW, ...undone }]));
  assert.notDeepEqual([await toldByKey(maker), await toldByKey(door)], before);
  for (const { wallet } of [maker, door]) await wallet.forgetLists(itemId);

  const sorted = (all) => all.map((each) => each.toSorted());
  const after = [await toldByKey(maker), await toldByKey(door)];
  assert.deepEqual(sorted(after), sorted(before));
});

test("a door whose clock is ahead hands over the service's times", async () => {
  const { maker, tickets, itemId } = await party(0);
  const api = { ...maker.service.api(), time: now };
  const clock = { now: () => now() + 2 * 86_400_000 };
  const door = { ...makerOn(maker.service, undefined, api, clock), itemId };
  await door.wallet.item(itemId);
  await door.wallet.claim(tickets[0], AT_DOOR);

  await handOver(door, maker);

  const [{ state, at }] = await linksOf(maker);
  assert.equal(state, "admitted");
  assert.ok(at > 0 && at < now());
});

test("a list is parsed once for all scans, also of other deeds", () => {
  const text = writeList("deed_1", [ROW]);
  const rows = rowsOf(text);
  assert.deepEqual(rowsOf(undefined), []);
  assert.equal(rowsOf(`${text}`), rows);
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
  const noted = { ...ROW, id: ID.replace("0", "2"), note: "no number", said: 12 };
  const rows = [ROW, named, noted];

  assert.deepEqual(rowsOf(writeList("deed_1", rows)), rows);
  for (const line of [
    `${ID} x1 1`,
    `${ID} a1 0`,
    `${ID} a1 9007199254740993`,
    `${ID} a1 1 9999999999 1 1`,
    `${ID} a1 1 900 200 1`,
    `${ID} a1 1 0 1000000001 1`,
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
  const random = new Random(1);
  for (let round = 0; round < 300; round += 1) {
    const texts = Array.from({ length: 4 }, () => {
      const letter = random.pick("aubn");
      const at = random.pick([0, 1000]);
      const amount = random.pick([1, 2]);
      const said = random.below(3);
      return writeList("deed_1", [{ ...ROW, letter, at, amount, said }]);
    });
    const joined = joinLists("deed_1", ...texts);

    assert.equal(joinLists("deed_1", ...texts.toReversed(), ...texts), joined);
    const [one, two, ...more] = texts;
    const parts = [joinLists("deed_1", two, ...more), joinLists("deed_1", one, two)];
    assert.equal(joinLists("deed_1", ...parts), joined);
  }
});

test("what a door with a wrong clock let in can be undone, for good", async () => {
  const { maker, tickets, door } = await party();
  await door.wallet.claim(tickets[0], AT_DOOR);
  await maker.wallet.checkStates();
  const at = now() + 40 * 365 * 24 * 60 * 60_000;
  const id = await ticketId(tickets[0]);
  const ahead = writeList(maker.itemId, [
    { ...ROW, id, at },
    { ...ROW, at },
  ]);
  for (const { wallet } of [maker, door]) await wallet.takeInList(maker.itemId, ahead);

  for (const { wallet } of [maker, door]) {
    for (const key of [tickets[0].key, ID]) {
      await wallet.undoAdmission(maker.itemId, key);
      await wallet.takeInList(maker.itemId, ahead);
    }
  }

  for (const browser of [maker, door]) {
    const states = (await told(browser)).join();
    assert.equal(states.match(/undone/g)?.length, 2);
    assert.doesNotMatch(states, /admitted/);
  }
});
