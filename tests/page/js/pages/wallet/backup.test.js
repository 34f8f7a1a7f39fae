// What a page says of the last backup, and of a restore.

import assert from "node:assert/strict";
import { test } from "node:test";

import { backupText } from "../../../../../parts/pages/static/js/pages/wallet/backup_forms.js";
import {
  makeLooker,
  restoredTexts,
} from "../../../../../parts/pages/static/js/pages/wallet/restore_form.js";
import { NoAnswerError } from "../../../../../parts/pages/static/js/wallet/api.js";
import { FindingError } from "../../../../../parts/pages/static/js/wallet/finding.js";
import { memoryStore } from "../../wallet/memory_store.js";

test("it is said by value what a backup does not hold, and nothing more alarming than is true", () => {
  const text = (given) => backupText({ at: 5, ...given });

  assert.match(text({ at: null }), /^Not backed up yet\./);
  assert.equal(
    text({ newCount: 1, changesCount: 9 }),
    "1 new item isn't backed up yet.",
  );
  assert.equal(
    text({ changesCount: 9, file: { name: "a.json" } }),
    "Backed up, but not what you did since.",
  );
  assert.match(text({}), /^Everything is backed up, .*1970.*\.$/);
  assert.equal(
    text({ changesCount: 9, restored: {} }),
    "What came in after this backup is not in it.",
  );
  assert.match(text({ file: { name: "a.json" } }), /^Backed up .*1970.* to a\.json\.$/);
});

const ITEM = { id: "a", unit: "ticket", metadata: '{"name":"Concert"}' };
const itemOf = (itemId) => (itemId === "a" ? ITEM : null);
const held = (amount, more) => ({ state: "held", itemId: "a", amount, ...more });

test("a restore says how much it brought", () => {
  const text = (given) =>
    restoredTexts({ fresh: [], added: given.fresh, ...given }).join(" ");

  assert.equal(text({}), "Restored. Everything was already here.");
  assert.equal(
    text({ isOlder: true, found: "Found." }),
    "Restored. This backup is older than the last change here. Found.",
  );
  assert.equal(
    text({ isOlder: true, isGone: true, age: "From then." }),
    "Restored. Everything in it has been used or passed on since. From then.",
  );
  const fresh = [held(3), held(2, { state: "given" }), held(9, { state: "coming" })];
  assert.equal(text({ fresh, isOlder: true }), "Restored: 1 deed.");
  assert.match(
    text({ fresh, isGiven: true }),
    /deed\. We can.t tell which links .* as shared\.$/,
  );
});

/** Return what looks with a wallet whose look does this, and what it has shown. */
function looker(look) {
  const [store, shown, looks] = [memoryStore(), [], []];
  const wallet = {
    look: async (options) => {
      looks.push(options);
      return look(store, options);
    },
    checkStates: async () => {},
    isLookDue: async () => looks.length === 0,
  };
  const show = (text) => shown.push(text);
  return { look: makeLooker({ wallet, store, itemOf }, show), shown, looks };
}

test("a look tells how far it is, and what it found, by value", async () => {
  const { look, shown } = looker(async (store, { onProgress }) => {
    onProgress(12, 340);
    const outputs = [
      held(98, { foundAt: Date.now() + 1 }),
      held(2, { foundAt: Date.now() + 1, state: "spent" }),
      held(1, { foundAt: 5 }),
    ].map((output, place) => ({ key: `a.${place}`, ...output }));
    store.put({ outputs });
  });

  const found = await look();

  assert.equal(found, "Found since the backup: 98 × ticket of “Concert”.");
  assert.deepEqual(shown.slice(0, 2), ["Checking for missing deeds: 12 of 340", found]);
});

test("a look that was broken off goes on once, after the one that is under way", async () => {
  const { look, looks } = looker(async () => {});

  const found = await Promise.all([look(), look({ isDueOnly: true })]);

  assert.deepEqual([looks.length, found], [1, ["", ""]]);
});

test("why a look has to wait is said until it goes on", async () => {
  for (const [problem, said] of [
    [
      new NoAnswerError(),
      "The service can't be reached. We'll check again when it can.",
    ],
    [new FindingError(), "The service's answer doesn't add up. Nothing was changed."],
  ]) {
    const { look, shown } = looker(async () => {
      throw problem;
    });

    assert.equal(await look(), said);

    assert.deepEqual(shown, [said]);
  }
});
