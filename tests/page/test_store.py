"""The wallet's store on a real IndexedDB.

One update is one transaction, between two tabs too.
"""

import pytest
from playwright.sync_api import expect

from tests.page import steps
from tests.page.visitor import hold_back
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


def test_what_an_update_puts_is_on_disk_and_read_in_every_tab(tab):
    one, other = tab(), tab()

    result = update(one, {"items": [{"key": "a", "n": 1}], "result": {"told": True}})

    assert result == {"told": True}
    assert read(other) == NOTHING | {"items": [{"key": "a", "n": 1}]}
    assert one.evaluate("inBrowser.changesCount") == 1
    wait_until(lambda: other.evaluate("inBrowser.changesCount") == 1)
    assert one.evaluate("inBrowser.transactionsOfUpdate()") == [["readwrite", "strict"]]


def test_a_query_loads_what_it_names_alone(tab):
    page = tab()
    places = [("a", "held"), ("a", "given"), ("b", "held")]
    outputs = [
        {"key": f"{it}.{state}", "itemId": it, "state": state} for it, state in places
    ]
    update(page, {"outputs": [*outputs, {"key": "without", "state": "held"}]})

    def keys_in(wanted, fields):
        return page.evaluate("given => inBrowser.keysIn(given)", [wanted, fields])

    assert keys_in({"itemId": "a"}, {"itemId": "a"}) == ["a.given", "a.held"]
    assert keys_in({"state": "held"}, {"state": "held"}) == [
        "a.held",
        "b.held",
        "without",
    ]
    one = {"itemId": "a", "state": "held"}
    assert keys_in([one, "b.held", "nobody"], one) == ["a.held"]
    assert keys_in([one], {"itemId": "a"}) == "a look at records that were not loaded"
    assert keys_in("all", {"state": "given"}) == ["a.given"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_of_an_earlier_version_keeps_all_and_the_first_learns_what_was_given(
    visitor, version
):
    page = visitor.go("/item/deed_nobody")
    held = {"key": "x.held", "itemId": "x", "state": "held", "createdAt": 5}
    back = held | {"key": "x.back", "state": "leaving", "before": "given"}
    shown = [held | {"key": f"x.shown{place}"} for place in (1, 2)]
    seen = held | {"key": "x.y", "state": "offered"}
    claiming = held | {"key": "x.z", "state": "leaving", "before": "offered"}
    old = {
        "outputs": [back, held, *shown, seen, claiming],
        "operations": [{"key": "m", "kind": "mint", "itemId": "x", "outputs": shown}],
        "items": [{"key": "x", "id": "x", "total": 5}],
    }
    page.evaluate("given => inBrowser.makeEarlier(given)", [version, old])

    assert page.evaluate("inBrowser.openStore()") == "open"

    named = [seen | {"state": "seen"}, claiming | {"before": "seen"}]
    links = [each | {"state": "given", "givenAt": 5} for each in shown]
    first = [back | {"givenAt": 5}, held, *links, *named]
    kept = first if version == 1 else [back, held, *shown, *named]
    assert read(page) == old | {"outputs": kept}
    for query in [{"itemId": "x", "state": "seen"}, {"state": "seen"}]:
        assert page.evaluate("given => inBrowser.keysIn(given)", [query, query]) == [
            "x.y"
        ]


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


def test_a_store_stands_aside_for_a_newer_page_and_an_older_page_says_so(tab):
    old, new = tab(), tab()
    new.evaluate("inBrowser.store.close()")

    assert new.evaluate("inBrowser.open(4, (database) => database.version)") == 4

    wait_until(lambda: old.evaluate("inBrowser.closedCount") == 1)
    assert update(old, {}) == "StoreError InvalidStateError"
    too_old = "StoreError VersionError: A newer page has been here. Reload this one."
    assert old.evaluate("inBrowser.openStore()") == too_old


def test_a_newer_page_that_an_old_tab_blocks_says_so_and_blocks_nobody_itself(
    tab, visitor
):
    old = tab()
    old.evaluate("inBrowser.store.close()")
    # A tab that does not stand aside, as a page of a release without that would not.
    old.evaluate("inBrowser.open(3, (database) => { inBrowser.stubborn = database; })")

    def serve_newer(route):
        text = route.fetch().text().replace("const VERSION = 3;", "const VERSION = 4;")
        assert text.count("VERSION = 4") == 1
        route.fulfill(content_type="text/javascript", body=text)

    page = visitor.context.new_page()
    page.route("**/js/wallet/store.js", serve_newer)
    page.goto(f"{visitor.origin}/item/deed_nobody")

    blocked = "StoreError blocked: Close the other tabs of this page, then reload it."
    assert page.evaluate("inBrowser.openStore()") == blocked
    # The old tab goes: what was asked for opens after all, and must not be left open.
    old.evaluate("inBrowser.stubborn.close()")
    assert page.evaluate("inBrowser.remove()") == "removed"


def test_a_profile_that_is_cleared_while_the_page_is_open_says_so(visitor):
    page, _ = steps.hold(visitor, 10)

    visitor.clear_storage()

    expect(
        page.get_by_role("alert").filter(has_text="Reload it to go on.")
    ).to_be_visible()


def test_a_browser_that_keeps_nothing_is_told_so(visitor):
    visitor.page.add_init_script(
        "indexedDB.open = () => { throw new DOMException('no', 'SecurityError'); };"
    )

    page = visitor.go("/wallet")

    said = page.get_by_role("alert").filter(
        has_text="This browser keeps nothing for this page."
    )
    expect(said).to_be_visible()
    expect(page.get_by_role("heading", name="Keep a copy")).to_be_hidden()
    expect(page.get_by_text("Loading…")).to_be_hidden()
    expect(page.get_by_role("link", name="Error codes")).to_be_visible()
    assert visitor.errors == []


def test_without_room_on_the_device_nothing_is_sent_until_there_is_some(visit):
    visitor = visit()
    [raw] = steps.mint_outputs(visitor.origin, "secret")
    # Before anything is kept: Chromium remembers for a while how much room there was.
    browser = visitor.context.new_cdp_session(visitor.page)
    room = {"origin": visitor.origin, "quotaSize": 300_000}
    browser.send("Storage.overrideQuotaForOrigin", room)
    steps.hold(visitor, 1)
    page = visitor.go(f"/claim#{raw}")
    steps.wait_for_rows(page, "free")
    page.evaluate("inBrowser.fillUp()")

    steps.take(page)
    page.get_by_text("This device has no room left").wait_for()
    assert visitor.asked("/v1/swap") == []
    assert steps.check(visitor.origin, [raw]) == ["unspent"]
    visitor.open_tab("/wallet").get_by_role("button", name="Back up").click()
    dialog = visitor.page.get_by_role("dialog")
    for label in ["Passphrase", "Repeat passphrase"]:
        dialog.get_by_label(label, exact=True).fill("four unrelated words")
    dialog.get_by_role("button", name="Back up").click()
    expect(dialog.get_by_role("alert")).to_contain_text("This device has no room left")
    browser.detach()
    steps.take(page)

    steps.wait_for_rows(page, "taken")


def second_tab(visitor, item_id):
    page = visitor.open_tab(f"/wallet#{item_id}")
    page.locator("[data-holding]").wait_for()
    return page


def test_what_is_under_way_in_one_tab_cannot_be_spent_in_another(visitor):
    one, item_id = steps.hold(visitor, 5)
    other = second_tab(visitor, item_id)
    other.get_by_label("How many?").fill("5")
    waiting = hold_back(one, "**/v1/swap")

    steps.send(one, "2")
    wait_until(lambda: one.evaluate("1") and waiting)
    expect(other.locator(".holding-sum")).to_have_text(
        "Nothing here of 5 · 3 units on the way"
    )
    # Though the page has hidden the form.
    other.evaluate("document.querySelector('[data-part=send]').requestSubmit()")

    error = other.locator("[data-holding] [data-error]")
    expect(error).to_have_text("These units are on their way, in this or another tab.")
    assert len(visitor.swap_keys()) == 1
    waiting[0].continue_()
    expect(other.locator(".holding-sum")).to_have_text("3 units of 5 · 2 waiting")
    assert steps.amounts(other) == {"given": [2], "held": [3], "spent": [5]}


def test_what_is_typed_stays_and_the_focus_near_when_another_tab_takes_what_had_it(
    visitor,
):
    one, item_id = steps.hold(visitor, 5, 6)
    one.get_by_label("How many?").fill("4")
    steps.open_parts(one)
    one.locator("[data-part=parts] li button").first.focus()

    steps.send(second_tab(visitor, item_id), "1").wait_for()

    expect(one.locator("[data-part=sum]")).to_have_text("10 units")
    expect(one.get_by_label("How many?")).to_have_value("4")
    expect(one.locator("[data-focus]")).to_be_focused()
