"""The wallet's store on a real IndexedDB.

One update is one transaction, between two tabs too.
"""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    MINE,
    PASSPHRASE,
    close_report,
    confirm_passphrase,
    expect_shown,
    expect_sum,
    hold,
    press,
    restore,
    send,
)
from tests.page.visitor import wait_for_true
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

NOTHING = {"outputs": [], "operations": [], "items": []}
# A page that opens no store of its own.
STORELESS = "/item/deed_nobody"
OPEN = "inBrowser.openStore()"
READ = "inBrowser.readStore()"
UPDATE = "changes => inBrowser.update(changes)"
KEYS_IN = "given => inBrowser.keysIn(given)"


@pytest.fixture
def one(visitor):
    """A tab with its store."""
    page = visitor.go(STORELESS)
    assert page.evaluate(OPEN) == "open"
    return page


@pytest.fixture
def other(one, visitor):
    """Another tab of the same profile with its store."""
    page = visitor.open_tab(STORELESS)
    assert page.evaluate(OPEN) == "open"
    return page


def test_what_an_update_puts_is_on_disk_and_read_in_every_tab(one, other):
    changes = {"items": [{"key": "a", "n": 1}], "result": {"told": True}}

    result = one.evaluate(UPDATE, changes)

    assert result == {"told": True}
    assert other.evaluate(READ) == NOTHING | {"items": [{"key": "a", "n": 1}]}
    assert one.evaluate("inBrowser.changesCount") == 1
    wait_for_true(other, "inBrowser.changesCount === 1")
    assert one.evaluate("inBrowser.transactionsOfUpdate()") == [["readwrite", "strict"]]


def test_a_query_loads_what_it_names_alone(one):
    outputs = [
        {"key": "a.held", "itemId": "a", "state": "held"},
        {"key": "a.given", "itemId": "a", "state": "given"},
        {"key": "b.held", "itemId": "b", "state": "held"},
        {"key": "without", "state": "held"},
    ]
    one.evaluate(UPDATE, {"outputs": outputs})

    def keys_in(wanted, **fields):
        return one.evaluate(KEYS_IN, [wanted, fields])

    assert keys_in({"itemId": "a"}, itemId="a") == ["a.given", "a.held"]
    assert keys_in({"state": "held"}, state="held") == ["a.held", "b.held", "without"]
    held_of_a = {"itemId": "a", "state": "held"}
    assert keys_in([held_of_a, "b.held", "nobody"], **held_of_a) == ["a.held"]
    assert keys_in("all", state="given") == ["a.given"]


def test_an_update_that_fails_half_way_leaves_nothing(one):
    one.evaluate(UPDATE, {"items": [{"key": "before"}]})

    assert one.evaluate("inBrowser.failHalfWay()") == 4

    assert one.evaluate(READ) == NOTHING | {"items": [{"key": "before"}]}
    assert one.evaluate("inBrowser.changesCount") == 1


def test_a_tab_that_goes_in_the_middle_of_an_update_leaves_it_whole_or_not(one, other):
    one.evaluate("inBrowser.beginMany(3000)")
    one.close()

    kept = other.evaluate(READ)
    assert (len(kept["outputs"]), len(kept["items"])) in [(0, 0), (3000, 1)]
    other.evaluate(UPDATE, {"items": [{"key": "after"}]})
    assert {"key": "after"} in other.evaluate(READ)["items"]


def test_updates_of_two_tabs_at_once_come_one_after_the_other(one, other):
    for page in (one, other):
        page.evaluate("inBrowser.beginToCount(100)")
    for page in (one, other):
        page.evaluate("async () => { await inBrowser.counted; }")

    assert one.evaluate(READ)["items"] == [{"key": "count", "n": 200}]


def test_a_store_stands_aside_for_a_newer_page_and_an_older_page_says_so(one, other):
    newer = "inBrowser.open(6, (database) => database.version)"
    assert other.evaluate(newer) == 6

    wait_for_true(one, "inBrowser.closedCount === 1")
    assert one.evaluate(UPDATE, {}) == "StoreError newer"
    said = "A newer version of this page was open here. Reload this page."
    assert one.evaluate(OPEN) == f"StoreError newer: {said}"


def test_where_a_wallet_was_cleared_what_an_open_page_knows_is_saved_and_restored(
    visitor,
):
    page, _ = hold(visitor, 10)

    visitor.clear_storage()

    expect_shown(page, "This page's data was deleted in this browser.")
    asked = []
    page.once("dialog", lambda dialog: asked.append(dialog.type) or dialog.dismiss())
    press(page, "Try again")
    wait_until(lambda: asked == ["beforeunload"])
    press(page, "Save partial backup")
    dialog = page.get_by_role("dialog")
    with page.expect_download() as download:
        confirm_passphrase(dialog, PASSPHRASE, PASSPHRASE, "Save")
    assert "partial" in download.value.suggested_filename
    # It is no new wallet that is begun in silence.
    page = visitor.open_tab("/claim")
    expect_shown(page, "This browser has lost your deeds")
    page = visitor.open_tab("/wallet")
    expect(page.get_by_text("Nothing here yet")).to_be_hidden()
    press(page.get_by_role("alert"), "Restore")
    restore(page, download.value.path(), PASSPHRASE)
    press(page, MINE)
    close_report(page)
    expect(page.locator("#backup-state")).to_contain_text("after that is not in it.")
    expect(page.get_by_role("alert")).to_have_count(0)

    # A person may also start again.
    visitor.open_tab(STORELESS)
    visitor.clear_storage()
    page = visitor.open_tab("/wallet")
    press(page, "Start again")
    page.reload()
    expect_shown(page, "Nothing here yet")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_browser_that_keeps_nothing_is_told_so(visitor):
    refuse = "indexedDB.open = () => { throw new DOMException('no', 'SecurityError'); }"

    page = visitor.open_tab("/wallet", refuse)

    said = "This browser saves nothing for this page."
    expect(page.get_by_role("alert").filter(has_text=said)).to_be_visible()
    expect(page.get_by_role("heading", name="Keep a copy")).to_be_hidden()
    expect(page.get_by_text("Loading…")).to_be_hidden()
    expect(page.get_by_role("link", name="Error codes")).to_be_visible()
    assert visitor.errors == []


def test_the_focus_stays_near_when_another_tab_sends(visitor):
    one, item_id = hold(visitor, 5, 6)
    other = visitor.open_tab(f"/wallet#{item_id}")
    one.locator(".link-row button").first.focus()

    send(other, "1").wait_for()

    expect_sum(one, "10 units of 11")
    expect(one.locator("[data-focus]")).to_be_focused()
