"""The links of a deed in a browser.

Each way of handing one out, the list of them, and a series.
"""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    COPIED,
    TICKET,
    amounts,
    choose,
    claim_link,
    expect_notice,
    expect_shown,
    follow,
    hold,
    press,
    raws,
    records,
    row,
    send,
    spend,
    wait_for_amounts,
)
from tests.page.visitor import PHONE
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


ACTIONS = ".menu-list > :not([hidden])"
SELECTED = "field => field.value.slice(field.selectionStart, field.selectionEnd)"
STARTS = """rows => rows.map((row) =>
  [".state", "input"].map((part) => row.querySelector(part).getBoundingClientRect().x)
)"""


def test_the_first_link_is_made_and_copied_with_three_taps(visitor):
    page = visitor.go("/")

    follow(page, "Create tickets or vouchers")
    expect(page.get_by_label("Name")).to_be_focused()
    page.keyboard.type("A ticket")
    press(page, "Create")
    press(page, "Copy link")

    expect_shown(page, "Link copied")
    visitor.assert_taps(3)


@pytest.fixture
def page(visitor):
    """The page of a deed of three links."""
    return hold(visitor, links=3, metadata=TICKET)[0]


def test_of_links_that_are_sent_as_one_each_number_finds_the_note(visitor):
    page, _ = hold(visitor, links=12, unit="ticket/tickets", metadata=TICKET)
    dialog = send(page, "3")
    title = "Your link: 3 tickets · No. 1\u20133"
    expect(dialog.get_by_role("heading", name=title)).to_be_visible()
    expect(dialog.get_by_role("img", name="QR code")).to_be_in_viewport(ratio=1)
    visitor.assert_good()
    dialog.get_by_label("For whom?").fill("Family Schmidt")
    press(dialog, "Done")

    page.get_by_label("Search by number or note").fill("2")

    expect(page.locator(".link-row")).to_have_count(1)
    expect(row(page, 1).locator("input")).to_have_value("Family Schmidt")


def test_a_link_that_is_taken_back_stays_where_it_was_and_rows_are_in_columns(visitor):
    page, _ = hold(visitor, links=12, unit="ticket/tickets", metadata=TICKET)
    press(send(page, "3"), "Done")
    choose(row(page, 2), "Copy")
    choose(row(page, 2), "Take back")
    given = raws(page, "given")

    press(page.get_by_role("dialog"), "Take back")

    expect(row(page, 2)).to_contain_text("2nd link")
    # Nor does who goes on from there lose the place.
    expect(row(page, 2).locator(".menu > button")).to_be_focused()
    assert sorted(visitor.api.check(*given)) == ["spent", "unspent"]
    rows = page.locator(".link-row")
    for width in (PHONE["width"], 1280):
        page.set_viewport_size({"width": width, "height": 740})
        [first, *others] = rows.evaluate_all(STARTS)
        assert others == [first] * 9
        assert row(page, 2).bounding_box()["height"] < 56
        assert row(page, 2).locator("input").bounding_box()["width"] >= 96


def test_a_take_back_that_is_begun_goes_on_when_its_dialog_is_closed(page, visitor):
    choose(row(page, 1), "Copy")
    wait_for_amounts(page, given=[1], held=[1, 1])
    visitor.go_offline()
    choose(row(page, 1), "Take back")
    dialog = page.get_by_role("dialog")

    press(dialog, "Take back")
    expect_shown(dialog, "You're offline.")
    expect(dialog.get_by_role("button", name="Cancel")).to_have_count(0)
    press(dialog, "Close")

    expect(row(page, 1).locator(".state")).to_have_text("under way")
    expect(row(page, 1).locator(ACTIONS)).to_have_text(["Note"])
    visitor.go_online()
    expect(row(page, 1)).to_contain_text("2nd link")


def test_each_way_of_handing_out_a_link_hands_out_the_same(visitor):
    page, _ = hold(visitor, links=1, unit="seat", metadata=TICKET)
    page.evaluate("navigator.share = async (data) => { window.shared = data; }")
    choose(row(page, 1), "Show link")
    shown = page.get_by_role("dialog")
    image = shown.get_by_role("img", name="QR code: 1 seat of “A ticket”")
    expect(image).to_be_visible()
    # To show it hands it out.
    assert amounts(page) == {"given": [1]}
    [raw] = raws(page, "given")
    link = f"{claim_link(visitor.origin, raw)}&unit=seat&n=1"

    with page.expect_download() as download:
        for way in ["Share", "Copy link", "Download", "For developers"]:
            shown.locator("button, summary").filter(has_text=way).click()

    name = "1 seat of “A ticket”"
    assert page.evaluate("window.shared") == {"text": name, "url": link}
    wait_until(lambda: page.evaluate(COPIED) == link)
    assert download.value.path().read_text().splitlines() == [name, link, raw]
    expect(shown.get_by_label("Claim link")).to_have_value(link)
    expect(shown.get_by_label("Raw output")).to_have_value(raw)
    visitor.assert_good()


def test_two_units_are_a_link_for_each_with_a_note_for_each(page, visitor):
    row(page, 2).get_by_label("Note for 2 of 3").fill("Ben")
    page.keyboard.press("Tab")
    wait_until(lambda: "Ben" in str(records(page)))
    press(page, "Send")
    dialog = page.get_by_role("dialog")
    each = dialog.get_by_label("A link for each")
    expect(each).to_be_hidden()
    # What is typed takes the place of the 1 there.
    field = dialog.get_by_label("How many?")
    field.click()
    wait_until(lambda: field.evaluate(SELECTED) == "1")
    page.keyboard.type("2")
    expect_shown(dialog, "You have 3 units. Takes 1 of 3 and 2 of 3 · Ben.")
    each.check()
    visitor.assert_good()

    press(dialog, "Send")

    expect(dialog.get_by_role("heading", name="Your 2 links")).to_be_visible()
    states = page.locator("[data-part=links] .state")
    expect(states).to_have_text(["handed out", "handed out", "left"])
    press(dialog, "Copy all links")
    expect_shown(dialog, "Copied.")
    copied = page.evaluate(COPIED).splitlines()
    assert [link.partition("&")[2] for link in copied] == ["n=1", "n=2"]
    note = dialog.get_by_label("For whom?")
    note.fill("Anna")
    press(dialog, "Next")
    expect(note).to_have_value("Ben")
    expect(row(page, 1).locator("input")).to_have_value("Anna")
    visitor.assert_good()


def test_of_what_is_in_one_piece_a_link_for_each_is_split_off(visitor):
    page, _ = hold(visitor, 10)
    press(page, "Send")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("How many?").fill("2")
    dialog.get_by_label("A link for each").check()

    press(dialog, "Send")

    expect(dialog.get_by_role("heading", name="Your 2 links")).to_be_visible()
    assert amounts(page) == {"given": [1, 1], "held": [8], "spent": [10]}


def test_keys_move_within_a_menu_and_the_focus_stays_beside_what_is_gone(visitor):
    page, _ = hold(visitor, 1)
    more = page.locator(".tools [data-icon=more]")
    items = page.locator(".menu-list:popover-open > :visible")
    more.press("Enter")

    first, last = items.first, items.last
    steps = {"ArrowUp": last, "ArrowDown": first, "End": last, "Home": first}
    for key, item in steps.items():
        page.keyboard.press(key)
        expect(item).to_be_focused()

    page.keyboard.press("Escape")
    expect(more).to_be_focused()
    send(page, "").locator(".link-view").wait_for()
    page.keyboard.press("Escape")
    # There is nothing left to be sent.
    expect(page.locator(".tools :focus")).to_be_visible()


def test_a_row_is_one_line_and_its_menu_opens_where_there_is_room(visitor):
    page, _ = hold(visitor, links=20, unit="ticket", metadata=TICKET)
    items = page.locator(".menu-list:popover-open")
    first, last = (row(page, number) for number in (1, 20))
    button = first.locator("[data-icon=more]")
    button.click()
    assert items.bounding_box()["y"] > button.bounding_box()["y"]
    page.keyboard.press("Escape")

    last.get_by_label("Note").fill("x" * 80)
    expect_notice(page, "A note has at most 80 characters.")
    last.scroll_into_view_if_needed()
    button = last.locator("[data-icon=more]")
    for close in (
        lambda: page.keyboard.press("Escape"),
        lambda: page.mouse.click(5, 5),
        lambda: [page.keyboard.press("Tab") for _ in range(4)],
    ):
        button.click()
        assert items.bounding_box()["y"] < button.bounding_box()["y"]
        expect(items.locator("button:visible")).to_have_text(
            ["Copy link", "Show link", "Note"]
        )
        close()
        expect(items).to_have_count(0)
    assert last.bounding_box()["height"] < 56
    # Nobody is let in with what has no date.
    expect(page.locator("[data-part=door]")).to_be_hidden()
    visitor.assert_good()
    # With larger text it is more than one line, but within the window.
    page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_links_that_are_exported_are_handed_out_and_shown_by_their_state(visitor):
    dated = TICKET | {"description": "Date: 2126-12-05 20:00 +01:00"}
    page, _ = hold(visitor, links=3, metadata=dated)
    choose(page, "CSV with links", "export")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Which links").select_option(label="By number")
    dialog.get_by_label("From").fill("2")

    with page.expect_download() as download:
        press(dialog, "CSV with links")

    lines = download.value.path().read_text(encoding="utf-8-sig").splitlines()
    assert [line.partition(",")[0] for line in lines] == ["number", "2", "3"]
    wait_for_amounts(page, given=[1, 1], held=[1])
    spend(visitor.api, raws(page, "given")[0])
    page.reload()
    page.get_by_label("Which links to show").select_option(label="Claimed (1)")
    expect(page.locator("[data-part=links] .state")).to_have_text(["claimed"])
    expect_shown(page, "may include guests")
    expect(page.locator("[data-part=door]")).to_be_visible()
    expect(row(page, 1).locator(ACTIONS)).to_have_text(["Note", "Let in"])
