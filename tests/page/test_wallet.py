"""The My deeds page in a browser.

What is held there, every way in which it moves, and its file.
"""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    SHED,
    TICKET,
    amounts,
    choose,
    claim,
    come_back_until,
    expect_shown,
    expect_sum,
    expect_text,
    follow,
    give,
    hold,
    live_amounts,
    press,
    raws,
    send,
    send_offline,
    spend,
)

slow = pytest.mark.slow


@pytest.fixture
def page(visitor):
    """The page of a deed of which the visitor holds ten units."""
    return hold(visitor, 10, metadata=TICKET)[0]


def test_units_are_sent_as_a_link_and_their_maker_sees_where_all_are(visitor):
    page, item_id = hold(visitor, 10, metadata=SHED)
    expect(page.get_by_role("button", name="Send")).to_be_in_viewport(ratio=1)
    dialog = send(page, "11")
    field = dialog.get_by_label("How many?")
    expect(field).to_have_accessible_description("You only have 10 units.")
    expect(field).to_be_focused()
    field.fill("3")

    press(dialog, "Send")

    expect(dialog.get_by_role("button", name="Done")).to_be_in_viewport(ratio=1)
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    visitor.assert_good()
    assert amounts(page) == {"given": [3], "held": [7], "spent": [10]}
    assert live_amounts(visitor.api, page) == [3, 7]
    press(dialog, "Done")
    expect_sum(page, "7 units of 10")
    expect_text(page, "[data-part=given]", "3")
    spend(visitor.api, raws(page, "given")[0])
    come_back_until(page, "Claimed: 3")
    expect(page.locator("main .bad:visible")).to_have_count(0)
    bar = page.locator("[data-part=bar] > *")
    states = bar.evaluate_all("pieces => pieces.map(({dataset}) => dataset.state)")
    assert states == ["claimed", "here"]
    overview = page.locator("[data-part=overview] dd:visible")
    expect(overview).to_have_text(["3", "0", "7"])
    door = page.locator("[data-part=more-door]")
    expect(door).to_have_attribute("href", f"/door#{item_id}")


@slow
def test_each_deed_and_the_history_have_an_address_and_focus_follows(visitor):
    page, item_id = hold(visitor, 3, metadata=TICKET)
    name = page.get_by_role("heading", name="A ticket", level=1)
    expect(name).to_be_focused()
    expect(page).to_have_title("A ticket · Deeds")
    press(page, "Send")
    expect(page.get_by_role("dialog")).to_be_visible()

    page.go_back()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator(f"a[href='#{item_id}']")).to_be_focused()
    expect(page).to_have_title("My deeds · Deeds")
    follow(page, "History")
    page.reload()
    expect_shown(page, "Created 3 units of “A ticket”")
    page = visitor.go("/wallet#deed_nobody")
    expect(page.get_by_role("heading", name="This deed is not here")).to_be_visible()


@slow
def test_from_eight_deeds_on_the_list_is_searched_by_name_and_mark(visitor):
    page = visitor.go("/wallet")
    for number in range(8):
        deed = [[{"amount": 1}], {"name": f"Seat {number}"}]
        item_id = page.evaluate("given => inBrowser.mint(given)", deed)
    search = page.get_by_label("Search by name or mark")
    rows = page.locator("[data-row]")

    search.fill("seat 3")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Seat 3")
    search.fill(f"{item_id[5:9]}·{item_id[-4:]}")
    expect(rows).to_contain_text("Seat 7")
    search.fill("nothing")
    expect_shown(page, "No deed has this name or mark.")


@slow
def test_units_are_split_into_links_that_are_all_alike(page, visitor):
    more = page.locator(".tools [data-icon=more]")
    count, dialog = page.get_by_label("How many links?"), page.get_by_role("dialog")
    split = page.get_by_role("button", name="Split")
    more.press("Enter")
    split.press("Enter")
    expect(count).to_be_focused()
    page.keyboard.press("Escape")
    expect(more).to_be_focused()
    choose(page, "Split")
    count.fill("2")
    dialog.get_by_label("How many each?").fill("3")

    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Links")).to_be_visible()
    assert live_amounts(visitor.api, page) == [3, 3, 4]


@slow
def test_units_in_several_parts_are_merged(visitor):
    metadata = TICKET | {"description": "Date: 2126-06-01 20:00 +01:00"}
    item_id = visitor.api.mint("+9.a", "+1.b", metadata=metadata)
    for link in ("+1.{}.b", "+9.{}.a"):
        claim(visitor, link.format(item_id))
    page = visitor.go(f"/wallet#{item_id}")
    rows = page.locator(".link-row")
    expect(rows.locator("[data-part=besides]")).to_have_text(["9 units", "1 unit"])

    choose(page, "Merge")
    dialog = page.get_by_role("dialog")
    press(dialog, "Merge")

    expect(dialog).to_be_hidden()
    expect(rows).to_have_count(0)
    assert live_amounts(visitor.api, page) == [10]
    # Of a guest's own links no door has a list.
    expect_shown(send(page, "1"), "For whom?")
    expect(dialog.get_by_text("Only your list")).to_have_count(0)


@slow
def test_an_answer_that_comes_late_opens_nothing_over_another_dialog(page, visitor):
    give(page, "3")
    send_offline(visitor, "1")
    choose(page.locator("[data-part=links] li"), "Take back")

    visitor.go_online()

    dialog = page.get_by_role("dialog")
    expect_shown(dialog, "Your link is ready under Links.")
    press(dialog, "Cancel")
    expect_sum(page, "6 units of 10")
