"""js/wallet/store.js on a real IndexedDB: one update is one transaction, between tabs too."""

import re

import pytest
from playwright.sync_api import expect

from tests.page.claim_steps import take, wait_for_rows
from tests.page.holding import hold
from tests.page.samples import check, mint_outputs
from tests.support.waiting import wait_until

# Opens the store of this tab under `window.store`, and notes when it was closed for good.
OPEN = """async () => {
  const style = document.querySelector("link[rel=stylesheet]").href;
  const { openStore } = await import(new URL("js/wallet/store.js", style));
  window.closedCount = 0;
  window.changesCount = 0;
  try {
    window.store = await openStore(undefined, { onClosed: () => { window.closedCount += 1; } });
    window.store.onChange(() => { window.changesCount += 1; });
    return "open";
  } catch (error) {
    return `${error.name} ${error.code}: ${error.message}`;
  }
}"""

ALL = """() => window.store.read((slices) =>
  Object.fromEntries(Object.entries(slices).map(([kind, all]) => [kind, [...all.values()]])))"""

UPDATE = """(changes) => window.store.update(() => ({
  outputs: [], operations: [], items: [], ...changes }))"""

NOTHING = {"outputs": [], "operations": [], "items": []}


@pytest.fixture
def tab(visitor):
    """A function that opens one more tab of the profile, with its store."""

    def open_tab():
        page = visitor.context.new_page()
        visitor.hear(page)
        # A page that opens no store of its own.
        page.goto(f"{visitor.origin}/item/deed_nobody")
        assert page.evaluate(OPEN) == "open"
        return page

    return open_tab


def test_what_an_update_puts_is_read_in_every_tab(tab):
    one, other = tab(), tab()

    result = one.evaluate(UPDATE, {"items": [{"key": "a", "n": 1}], "result": {"told": True}})

    assert result == {"told": True}
    assert other.evaluate(ALL) == NOTHING | {"items": [{"key": "a", "n": 1}]}
    assert one.evaluate("window.changesCount") == 1
    wait_until(lambda: other.evaluate("window.changesCount") == 1)


# What goes wrong in the middle, after another record was put.
FAILURES = {
    "the rule throws": """() => { throw new Error("no"); }""",
    "no key": """() => ({ outputs: [{ key: "a" }], operations: [{ n: 1 }] })""",
    "no record": """() => ({ outputs: [{ key: "a" }], items: [undefined] })""",
    "a value that cannot be kept": """() => ({
        outputs: [{ key: "a" }], items: [{ key: "b", n: () => 1 }] })""",
}


def test_an_update_that_fails_half_way_leaves_nothing(tab):
    page = tab()
    page.evaluate(UPDATE, {"items": [{"key": "before"}]})

    for failure in FAILURES.values():
        failed = page.evaluate(
            f"() => window.store.update({failure}).then(() => 'done', (error) => error.name)"
        )
        assert failed != "done"
    assert page.evaluate(ALL) == NOTHING | {"items": [{"key": "before"}]}
    assert page.evaluate("window.changesCount") == 1


MANY = 3000

BEGIN_MANY = """(count) => {
  window.store.update(() => ({
    outputs: Array.from({ length: count }, (_, n) => ({ key: `o${n}`, text: "x".repeat(100) })),
    operations: [],
    items: [{ key: "last" }] }));
}"""


def test_a_tab_that_goes_in_the_middle_of_an_update_leaves_all_of_it_or_nothing(tab):
    one, other = tab(), tab()

    one.evaluate(BEGIN_MANY, MANY)
    one.close()

    kept = other.evaluate(ALL)
    assert (len(kept["outputs"]), len(kept["items"])) in [(0, 0), (MANY, 1)]
    other.evaluate(UPDATE, {"items": [{"key": "after"}]})
    assert {"key": "after"} in other.evaluate(ALL)["items"]


COUNT_SOON = """(times) => {
  const one = () => window.store.update(({ items }) => ({
    outputs: [], operations: [],
    items: [{ key: "count", n: (items.get("count")?.n ?? 0) + 1 }] }));
  window.counted = Promise.all(Array.from({ length: times }, one));
}"""


def test_updates_of_two_tabs_at_once_come_one_after_the_other(tab):
    tabs = [tab(), tab()]

    for page in tabs:
        page.evaluate(COUNT_SOON, 100)
    for page in tabs:
        page.evaluate("async () => { await window.counted; }")

    assert tabs[0].evaluate(ALL)["items"] == [{"key": "count", "n": 200}]


ASKED_OF_TRANSACTIONS = """async () => {
  const asked = [];
  const begin = IDBDatabase.prototype.transaction;
  IDBDatabase.prototype.transaction = function (...given) {
    const transaction = begin.apply(this, given);
    asked.push([transaction.mode, transaction.durability]);
    return transaction;
  };
  await window.store.update(() => ({ outputs: [], operations: [], items: [] }));
  return asked;
}"""


def test_an_update_is_on_disk_before_it_is_told(tab):
    assert tab().evaluate(ASKED_OF_TRANSACTIONS) == [["readwrite", "strict"]]


NEWER = """() => new Promise((resolve, reject) => {
  const opening = indexedDB.open("deeds", 2);
  opening.onsuccess = () => { window.newer = opening.result; resolve(opening.result.version); };
  opening.onerror = () => reject(opening.error);
  opening.onblocked = () => reject(new Error("blocked"));
})"""


def test_a_store_stands_aside_for_a_newer_page_and_an_older_page_says_so(tab):
    old, new = tab(), tab()
    new.evaluate("window.store.close()")

    assert new.evaluate(NEWER) == 2

    wait_until(lambda: old.evaluate("window.closedCount") == 1)
    failed = old.evaluate(
        f"({UPDATE})({{}}).then(() => 'done', (error) => `${{error.name}} ${{error.code}}`)"
    )
    assert failed == "StoreError closed"
    assert old.evaluate(OPEN) == "StoreError too_old: A newer page has been here. Reload this one."


# A tab that does not stand aside, as a page of a release without that would not.
STUBBORN = """() => new Promise((resolve) => {
  const opening = indexedDB.open("deeds", 1);
  opening.onsuccess = () => { window.stubborn = opening.result; resolve(); };
})"""

REMOVE = """() => new Promise((resolve) => {
  const removing = indexedDB.deleteDatabase("deeds");
  removing.onsuccess = () => resolve("removed");
  removing.onblocked = () => resolve("blocked");
})"""


def test_a_newer_page_that_an_old_tab_blocks_says_so_and_blocks_nobody_itself(tab, visitor):
    old = tab()
    old.evaluate("window.store.close()")
    old.evaluate(STUBBORN)

    def serve_newer(route):
        text = route.fetch().text()
        newer = re.sub(r"const VERSION = 1;", "const VERSION = 2;", text)
        newer = newer.replace("request.result.createObjectStore(kind", "(() => {})(kind")
        assert newer.count("VERSION = 2") == newer.count("(() => {})") == 1
        route.fulfill(content_type="text/javascript", body=newer)

    page = visitor.context.new_page()
    page.route("**/js/wallet/store.js", serve_newer)
    page.goto(f"{visitor.origin}/item/deed_nobody")

    blocked = "StoreError blocked: Close the other tabs of this page, then reload it."
    assert page.evaluate(OPEN) == blocked
    # The old tab goes: what was asked for opens after all, and must not be left open.
    old.evaluate("window.stubborn.close()")
    assert page.evaluate(REMOVE) == "removed"


def test_a_profile_that_is_cleared_while_the_page_is_open_says_so(visitor):
    page, _ = hold(visitor, 10)
    session = visitor.context.new_cdp_session(page)

    session.send(
        "Storage.clearDataForOrigin", {"origin": visitor.origin, "storageTypes": "indexeddb"}
    )

    expect(page.get_by_role("alert").filter(has_text="Reload it to go on.")).to_be_visible()


FORBIDDEN = "indexedDB.open = () => { throw new DOMException('no', 'SecurityError'); };"
ABSENT = "Object.defineProperty(window, 'indexedDB', { value: undefined });"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (ABSENT, "This browser keeps nothing for pages (IndexedDB)."),
        (FORBIDDEN, "This browser keeps nothing for this page."),
    ],
)
def test_a_browser_that_keeps_nothing_is_told_so(visitor, script, said):
    visitor.context.add_init_script(script)

    page = visitor.go("/wallet")

    expect(page.get_by_role("alert").filter(has_text=said)).to_be_visible()
    expect(page.get_by_role("heading", name="Keep a copy")).to_be_hidden()
    assert visitor.errors == []


# Puts into a database of its own whatever still fits, in smaller and smaller pieces.
FILL_UP = """async () => {
  const opening = indexedDB.open("ballast");
  opening.onupgradeneeded = () => opening.result.createObjectStore("all", { autoIncrement: true });
  await new Promise((resolve) => { opening.onsuccess = resolve; });
  const put = (length) => new Promise((resolve) => {
    const transaction = opening.result.transaction("all", "readwrite");
    transaction.oncomplete = () => resolve(true);
    transaction.onabort = () => resolve(false);
    transaction.objectStore("all").put("-".repeat(length));
  });
  let length = 100_000;
  while (length >= 1) if (!(await put(length))) length /= 2;
}"""


def test_without_room_on_the_device_nothing_is_sent_until_there_is_some(visitor):
    [raw] = mint_outputs(visitor.origin, "secret")
    page = visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")
    browser = visitor.context.new_cdp_session(page)
    room = {"origin": visitor.origin, "quotaSize": 300_000}
    browser.send("Storage.overrideQuotaForOrigin", room)
    page.evaluate(FILL_UP)

    take(page)
    page.get_by_text("This device has no room left").wait_for()
    assert [url for url in visitor.requests if url.endswith("/v1/swap")] == []
    assert check(visitor.origin, [raw]) == ["unspent"]
    browser.detach()
    take(page)

    wait_for_rows(page, "taken")
