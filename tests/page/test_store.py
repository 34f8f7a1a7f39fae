"""js/wallet/store.js on a real IndexedDB: one update is one transaction, between tabs too."""

import re

import pytest
from playwright.sync_api import expect

from tests.page.claim_steps import take, wait_for_rows
from tests.page.holding import hold
from tests.page.samples import check, mint_outputs
from tests.support.waiting import wait_until

NOTHING = {"outputs": [], "operations": [], "items": []}


@pytest.fixture
def tab(visitor):
    """A function that opens one more tab of the profile, with its store."""

    def open_tab():
        # A page that opens no store of its own.
        page = visitor.open_tab("/item/deed_nobody")
        assert page.evaluate("inBrowser.openStore()") == "open"
        return page

    return open_tab


def update(page, changes):
    return page.evaluate("changes => inBrowser.update(changes)", changes)


def read(page):
    return page.evaluate("inBrowser.readStore()")


def test_what_an_update_puts_is_read_in_every_tab(tab):
    one, other = tab(), tab()

    result = update(one, {"items": [{"key": "a", "n": 1}], "result": {"told": True}})

    assert result == {"told": True}
    assert read(other) == NOTHING | {"items": [{"key": "a", "n": 1}]}
    assert one.evaluate("inBrowser.changesCount") == 1
    wait_until(lambda: other.evaluate("inBrowser.changesCount") == 1)


def test_an_update_that_fails_half_way_leaves_nothing(tab):
    page = tab()
    update(page, {"items": [{"key": "before"}]})

    assert page.evaluate("inBrowser.failHalfWay()") == 4

    assert read(page) == NOTHING | {"items": [{"key": "before"}]}
    assert page.evaluate("inBrowser.changesCount") == 1


def test_a_tab_that_goes_in_the_middle_of_an_update_leaves_all_of_it_or_nothing(tab):
    one, other = tab(), tab()

    one.evaluate("inBrowser.beginMany(3000)")
    one.close()

    kept = read(other)
    assert (len(kept["outputs"]), len(kept["items"])) in [(0, 0), (3000, 1)]
    update(other, {"items": [{"key": "after"}]})
    assert {"key": "after"} in read(other)["items"]


def test_updates_of_two_tabs_at_once_come_one_after_the_other(tab):
    tabs = [tab(), tab()]

    for page in tabs:
        page.evaluate("inBrowser.beginToCount(100)")
    for page in tabs:
        page.evaluate("async () => { await inBrowser.counted; }")

    assert read(tabs[0])["items"] == [{"key": "count", "n": 200}]


def test_an_update_is_on_disk_before_it_is_told(tab):
    assert tab().evaluate("inBrowser.transactionsOfUpdate()") == [["readwrite", "strict"]]


def test_a_store_stands_aside_for_a_newer_page_and_an_older_page_says_so(tab):
    old, new = tab(), tab()
    new.evaluate("inBrowser.store.close()")

    assert new.evaluate("inBrowser.open(2, (database) => database.version)") == 2

    wait_until(lambda: old.evaluate("inBrowser.closedCount") == 1)
    assert update(old, {}) == "StoreError closed"
    too_old = "StoreError too_old: A newer page has been here. Reload this one."
    assert old.evaluate("inBrowser.openStore()") == too_old


def test_a_newer_page_that_an_old_tab_blocks_says_so_and_blocks_nobody_itself(tab, visitor):
    old = tab()
    old.evaluate("inBrowser.store.close()")
    # A tab that does not stand aside, as a page of a release without that would not.
    old.evaluate("inBrowser.open(1, (database) => { inBrowser.stubborn = database; })")

    def serve_newer(route):
        text = route.fetch().text()
        newer = re.sub(r"const VERSION = 1;", "const VERSION = 2;", text)
        newer = newer.replace("request.result.createObjectStore(kind", "(() => {})(kind")
        assert newer.count("VERSION = 2") == newer.count("(() => {})(") == 1
        route.fulfill(content_type="text/javascript", body=newer)

    page = visitor.context.new_page()
    page.route("**/js/wallet/store.js", serve_newer)
    page.goto(f"{visitor.origin}/item/deed_nobody")

    blocked = "StoreError blocked: Close the other tabs of this page, then reload it."
    assert page.evaluate("inBrowser.openStore()") == blocked
    # The old tab goes: what was asked for opens after all, and must not be left open.
    old.evaluate("inBrowser.stubborn.close()")
    assert page.evaluate("inBrowser.remove()") == "removed"


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
    visitor.page.add_init_script(script)

    page = visitor.go("/wallet")

    expect(page.get_by_role("alert").filter(has_text=said)).to_be_visible()
    expect(page.get_by_role("heading", name="Keep a copy")).to_be_hidden()
    assert visitor.errors == []


def test_without_room_on_the_device_nothing_is_sent_until_there_is_some(visit):
    visitor = visit()
    [raw] = mint_outputs(visitor.origin, "secret")
    # Before anything is kept: Chromium remembers for a while how much room there was.
    browser = visitor.context.new_cdp_session(visitor.page)
    room = {"origin": visitor.origin, "quotaSize": 300_000}
    browser.send("Storage.overrideQuotaForOrigin", room)
    page = visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")
    page.evaluate("inBrowser.fillUp()")

    take(page)
    page.get_by_text("This device has no room left").wait_for()
    assert visitor.asked("/v1/swap") == []
    assert check(visitor.origin, [raw]) == ["unspent"]
    browser.detach()
    take(page)

    wait_for_rows(page, "taken")
