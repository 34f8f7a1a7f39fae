"""The wallet's store on a real IndexedDB.

One update is one transaction, between two tabs too.
"""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    MINE,
    PASSPHRASE,
    claim_link,
    close_report,
    confirm_passphrase,
    expect_shown,
    expect_sum,
    hold,
    mint_outputs,
    press,
    restore,
    send,
    wait_for_rows,
)
from tests.page.visitor import visiting, wait_for_true
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


HELD_OF_A = {"itemId": "a", "state": "held"}


@pytest.mark.parametrize(
    ("wanted", "fields", "keys"),
    [
        ({"itemId": "a"}, {"itemId": "a"}, ["a.given", "a.held"]),
        ({"state": "held"}, {"state": "held"}, ["a.held", "b.held", "without"]),
        ([HELD_OF_A, "b.held", "nobody"], HELD_OF_A, ["a.held"]),
        ("all", {"state": "given"}, ["a.given"]),
    ],
)
def test_a_query_loads_what_it_names_alone(one, wanted, fields, keys):
    places = [("a", "held"), ("a", "given"), ("b", "held")]
    outputs = [
        {"key": f"{it}.{state}", "itemId": it, "state": state} for it, state in places
    ]
    outputs.append({"key": "without", "state": "held"})
    one.evaluate(UPDATE, {"outputs": outputs})

    assert one.evaluate(KEYS_IN, [wanted, fields]) == keys


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
    other.evaluate("inBrowser.store.close()")

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
    press(page.get_by_role("alert"), "Restore")
    restore(page, download.value.path(), PASSPHRASE)
    press(page, MINE)
    close_report(page)
    expect(page.locator("#backup-state")).to_contain_text("after that is not in it.")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_person_may_begin_anew_where_a_wallet_was_cleared(visitor):
    hold(visitor, 1)
    visitor.open_tab(STORELESS)
    visitor.clear_storage()
    page = visitor.open_tab("/wallet")
    empty = page.get_by_role("heading", name="Nothing here yet")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(empty).to_be_hidden()

    press(page, "Start again")

    page.reload()
    expect(empty).to_be_visible()
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


@pytest.fixture
def newcomer(browser, web_service):
    """A person whose profile no other test has used."""
    with visiting(browser, web_service.url) as visitor:
        yield visitor


# To fill the room takes seconds.
def test_without_room_on_the_device_nothing_is_sent_until_there_is_some(newcomer):
    [raw] = mint_outputs(newcomer.api, "secret")
    # Before anything is kept: Chromium remembers for a while how much room there was.
    browser = newcomer.context.new_cdp_session(newcomer.page)
    room = {"origin": newcomer.origin, "quotaSize": 3_000_000}
    browser.send("Storage.overrideQuotaForOrigin", room)
    hold(newcomer, 1)
    page = newcomer.go(claim_link("", raw))
    wait_for_rows(page, "free")
    page.evaluate("inBrowser.fillUp()")

    press(page, "Claim")

    expect_shown(page, "This device is full: free some space")
    assert newcomer.asked("/v1/swap") == []
    assert newcomer.api.check(raw) == ["unspent"]
    # There is room again.
    browser.detach()
    press(page, "Claim")
    wait_for_rows(page, "taken")


def test_the_focus_stays_near_when_another_tab_sends(visitor):
    one, item_id = hold(visitor, 5, 6)
    other = visitor.open_tab(f"/wallet#{item_id}")
    one.locator(".link-row button").first.focus()

    send(other, "1").wait_for()

    expect_sum(one, "10 units of 11")
    expect(one.locator("[data-focus]")).to_be_focused()
