"""Several doors and the organiser, each in a browser of its own, with one list."""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.page.camera import film
from tests.page.steps import (
    COPIED,
    TICKET,
    choose,
    come_back_until,
    expect_notice,
    expect_shown,
    expect_sum,
    expect_text,
    follow,
    hold,
    press,
    raws,
    records,
    row,
    spend,
)
from tests.page.test_door import LAST, WAITING, type_link
from tests.page.visitor import visiting
from tests.support.needs import require
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

NIGHT = {"name": "Concert", "description": "Date: 2126-11-28 20:00 +01:00"}
VERDICT = "#verdict-title"
TICKET_TEXT = "#verdict-ticket"


@pytest.fixture
def organiser(visitor):
    """A person at the list of their five tickets, three of them handed out."""
    page, _ = hold(visitor, links=5, unit="ticket/tickets", metadata=TICKET)
    write_note(page, 2, "table 4")
    for number in (1, 2, 3):
        choose(row(page, number), "Copy")
        expect(state(page, number)).to_have_text("handed out")
    return page


@pytest.fixture(scope="module")
def third_phone(browser, web_service):
    with visiting(browser, web_service.url) as visitor:
        yield visitor


@pytest.fixture
def other(third_phone):
    """A second door."""
    yield third_phone
    third_phone.forget()


def filter_of(page):
    return page.get_by_label("Which links to show")


def expect_states(page, *expected):
    expect(page.locator("[data-part=links] .state")).to_have_text([*expected])


def write_note(page, number, text):
    row(page, number).get_by_label("Note").fill(text)
    page.keyboard.press("Tab")
    wait_until(lambda: text in str(records(page)))


def state(page, number):
    return row(page, number).locator(".state")


def tickets(page):
    """Return the raw outputs of the links that were made, by number."""
    made = [each for each in records(page) if each.get("number")]
    made.sort(key=lambda each: each["number"])
    return [f"+{each['amount']}.{each['key']}" for each in made]


@contextmanager
def lists_of(page):
    """Yield the page of the door of the deed that a page shows: there its lists are."""
    if "/door" in page.url:
        yield page
        return
    door = page.context.new_page()
    door.goto(page.url.replace("/wallet", "/door").removesuffix("?admitted"))
    door.locator("summary", has_text="Guest list").click()
    yield door
    door.close()


def hand_over(page):
    """Return the file of a browser's list."""
    with lists_of(page) as door:
        with door.expect_download() as download:
            press(door, "Export guest list")
            dialog = door.get_by_role("dialog")
            expect(dialog.get_by_role("img")).to_be_visible()
            press(dialog, "Download")
        press(dialog, "Close")
        return download.value.path()


def take_in(page, path, said="The list has"):
    with lists_of(page) as door:
        press(door, "Import guest list")
        door.get_by_label("File of the list").set_input_files(path)
        press(door.get_by_role("dialog"), "Import")
        expect_notice(door, said)


def undo(admitted):
    choose(admitted, "Undo")
    press(admitted.page.get_by_role("dialog"), "Undo")


def open_door(visitor, item_id):
    page = visitor.go(f"/door#{item_id}")
    page.locator("summary", has_text="Guest list").click()
    visitor.context.grant_permissions(["camera"])
    return page


def admit(page, raw):
    """Let a ticket in whose link is typed, and close the door."""
    press(page, "Start")
    type_link(page, raw)
    expect_text(page, VERDICT, "Valid")
    press(page, "Stop")
    expect(page.locator("#door")).to_be_hidden()


def test_two_doors_add_up_in_the_organisers_list(visitor, organiser, stranger, other):
    raw = tickets(organiser)
    item_id = raw[0].split(".")[1]
    spend(visitor.api, raw[2])
    come_back_until(organiser, "claimed", row(organiser, 3))
    expect_notice(organiser, "Claimed: 1 ticket of")
    first, second = (open_door(each, item_id) for each in (stranger, other))
    admit(first, raw[1])
    admit(second, raw[0])

    files = [hand_over(page) for page in (first, second)]
    for path in files:
        take_in(organiser, path, "The list has 1 ticket. New: 1 admitted.")
    take_in(organiser, files[0], "The list has 1 ticket. Nothing new.")

    # What doors let in was claimed, too.
    states = ["admitted", "admitted", "claimed", "left", "left"]
    expect_states(organiser, *states)
    expect_text(organiser, "[data-part=admitted]", "2")
    follow(first, "Who is in")
    expect(first.get_by_label("Which links to show")).to_have_value("admitted")
    expect_sum(first, "Let in here and on imported lists: 1")
    take_in(first, hand_over(organiser))
    admitted = first.locator("[data-part=links] li").filter(has_text="admitted")
    expect(admitted.filter(has_text="2 of 5")).to_have_count(1)
    visitor.assert_good()
    with organiser.expect_download() as download:
        choose(organiser, "CSV without links", "export")
    assert download.value.suggested_filename == "A ticket list.csv"
    text = download.value.path().read_text(encoding="utf-8-sig")
    assert [line.split(",")[3] for line in text.splitlines()[1:]] == states
    assert "/claim" not in text
    forget_lists(organiser)
    expect_states(organiser, "claimed", "claimed", *states[2:])


def forget_lists(organiser):
    with lists_of(organiser) as door:
        press(door, "Forget imported lists")
        press(door.get_by_role("dialog"), "Forget")
        expect_notice(door, "Forgotten.")


def test_the_number_of_a_ticket_that_was_claimed_at_home_is_said_and_not_believed(
    visitor, organiser, stranger, other
):
    choose(row(organiser, 2), "Copy")
    expect_notice(organiser, "Link copied: Ticket 2 of 5")
    sent = organiser.evaluate(COPIED)
    guest = stranger.go(sent.removeprefix(visitor.origin))
    press(guest, "Claim")
    expect_shown(guest, "Yours now")
    press(stranger.go("/wallet"), "Show code")
    expect(guest.get_by_role("img", name="QR code")).to_be_visible()
    [shown] = stranger.asked("/web/qr")[-1].post_data_json["texts"]
    assert shown.partition("&")[0] != sent.partition("&")[0]
    assert shown.endswith("&n=2")
    door = open_door(other, records(guest)[0]["itemId"])
    take_in(door, hand_over(organiser))
    press(door, "Start")
    type_link(door, shown)
    expect_text(door, TICKET_TEXT, "table 4 Code says 2")
    expect(door.locator(LAST)).to_contain_text("Code says 2 · table 4")
    other.assert_good()
    press(door, "Stop")

    take_in(organiser, hand_over(door), "New: 1 admitted and 1 note.")

    come_back_until(organiser, "in, its code says", row(organiser, 2))
    expect_text(organiser, "[data-part=admitted]", "1")
    filter_of(organiser).select_option("Not seen at a door (2)")
    expect_states(organiser, "handed out", "handed out")
    visitor.assert_good()
    filter_of(organiser).select_option("")
    undo(row(organiser, 2))
    expect(state(organiser, 2)).to_have_text("admission undone")
    expect(organiser.locator("[data-part=links] li")).to_have_count(5)


def test_a_door_with_the_organisers_list_names_guests_and_gives_them_new_codes(
    visitor, organiser, stranger
):
    raw = tickets(organiser)
    write_note(organiser, 3, "x" * 80)
    take_back_first(organiser)
    door = open_door(stranger, raw[0].split(".")[1])
    take_in(door, hand_over(organiser))
    expect_text(door, "#list-count", "5")
    press(door, "Start")
    type_link(door, raw[1])
    expect_text(door, TICKET_TEXT, "table 4 No. 2 of 5")
    expect(door.locator("#door-last li").first).to_contain_text("2 Valid table 4")
    stranger.assert_good()
    type_link(door, raw[0])
    expect_text(door, VERDICT, "Taken back by the organiser")
    expect_text(door, "#verdict-detail", "It is for Ben now.")
    stranger.go_offline()
    type_link(door, raw[2])
    expect_text(door, TICKET_TEXT, f"{'x' * 80} No. 3 of 5")
    cancel = door.get_by_role("button", name="Cancel")
    expect(cancel).to_be_in_viewport(ratio=1)
    stranger.go_online()
    expect(door.locator(WAITING)).to_have_count(0)
    press(door, "Stop")

    undo_at_both(organiser, door)

    fresh = raws(door, "given")
    spent = ["spent", "spent"]
    assert visitor.api.check(raw[1], raw[2], *fresh) == [*spent, *2 * ["unspent"]]
    # At the same door.
    admit(open_door(stranger, raw[0].split(".")[1]), fresh[0])
    take_in(organiser, hand_over(door))
    again = organiser.locator("[data-part=links] li").filter(has_text="2nd link")
    expect(again.filter(has_text="admitted")).to_have_count(1)


def take_back_first(organiser):
    """Take back a ticket for somebody else."""
    write_note(organiser, 1, "Anna")
    choose(row(organiser, 1), "Take back")
    dialog = organiser.get_by_role("dialog")
    dialog.get_by_label("Note on the new link").fill("Ben")
    press(dialog, "Take back")
    expect(row(organiser, 1)).to_contain_text("2nd link")


def undo_at_both(organiser, door):
    """Undo one admission at the door, and one by the list of the organiser."""
    take_in(organiser, hand_over(door))
    undo(row(organiser, 3))
    expect(state(organiser, 3)).to_have_text("admission undone")
    take_in(door, hand_over(organiser))
    follow(door, "Who is in")
    undo(door.locator("[data-part=links] li"))
    dialog = door.get_by_role("dialog")
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    expect(dialog).to_contain_text("2 of 5 · 2nd link · table 4")
    press(dialog, "Done")
    filter_of(door).select_option("")
    undone = door.locator("[data-part=links] li").filter(has_text="undone")
    choose(undone.last, "New code")
    expect(dialog).to_contain_text("3 of 5 · 2nd link")
    press(dialog, "Done")
    expect(door.locator("[data-part=new-code]:not([hidden])")).to_have_count(0)


def test_a_list_is_read_from_the_screen_of_another_door(
    visitor, organiser, stranger, film_path
):
    require("npm: make test fetches what reads codes")
    item_id = tickets(organiser)[0].split(".")[1]
    text = f"deeds door list 1 {item_id}\n{'0' * 16} a1 1"
    codes = [f"{text}\ncode {code} of 2" for code in (1, 2)]
    film(film_path, [(codes[0], 0.7), ("", 1.8), (codes[1], 0.7), ("", 1.8)])
    visitor.context.grant_permissions(["camera"])
    with lists_of(organiser) as door:
        press(door, "Import guest list")
        press(door, "Scan a QR code")
        said = "Code 1 of 2 has 1 ticket. New: 1 admitted."
        expect_shown(door.get_by_role("dialog"), said)
        expect_notice(door, "Code 2 of 2 has 1 ticket.")
        expect(door.get_by_role("dialog")).to_have_count(0)
    expect_text(organiser, "[data-part=admitted]", "1")
    film(film_path, [(text, 0.7), ("", 1.8)])
    open_one = open_door(stranger, item_id)
    press(open_one, "Start")
    # A guest may have shown it.
    question = open_one.get_by_role("dialog", name="Import this list?")
    expect(question).to_be_visible()
    film(film_path, [("", 0.5)])
    press(question, "Import")
    said = "The list has 1 ticket. New: 1 admitted."
    expect_text(open_one, "#door [data-notices]", said)
    stranger.assert_good()


def test_names_that_are_pasted_are_the_notes_of_the_rows_below(organiser):
    choose(organiser, "Add names")
    dialog = organiser.get_by_role("dialog")
    dialog.get_by_label("One name per line").fill("Eve\n")
    press(dialog, "Add names")
    expect_notice(organiser, "Notes added: 1 of 1.")
    names = "Fred\r\n\r\nGina\nHugo\nIda\n"
    organiser.evaluate("text => navigator.clipboard.writeText(text)", names)
    notes = organiser.locator("[data-part=links] li").get_by_label("Note")

    notes.nth(2).press("Control+V")

    expect_notice(organiser, "There is no row for Ida.")
    for place, name in enumerate(["Eve", "table 4", "Fred", "Gina", "Hugo"]):
        expect(notes.nth(place)).to_have_value(name)
    notes.nth(2).press("Enter")
    expect(notes.nth(3)).to_be_focused()


def test_the_organiser_lets_a_guest_in_who_has_no_code(visitor):
    page, item_id = hold(visitor, links=2, metadata=NIGHT)
    inside = visitor.open_tab(f"/wallet#{item_id}?admitted")
    expect_shown(inside, "There are no such links.")
    visitor.assert_good()
    dialog = page.get_by_role("dialog")
    visitor.go_offline()
    choose(row(page, 1), "Let in")
    press(dialog, "Let in")
    # Nobody waits for a network there: the guest keeps the ticket.
    expect_shown(dialog, "You're offline.")
    visitor.go_online()
    expect(state(page, 1)).to_have_text("left")
    press(dialog, "Let in")
    expect_notice(page, "Let in: Number 1 of 2.")
    expect(state(page, 1)).to_have_text("admitted")
    assert visitor.api.check(tickets(page)[0]) == ["spent"]
    expect(inside.locator("[data-part=links] li")).to_have_count(1)

    choose(row(page, 2), "Copy")
    expect(state(page, 2)).to_have_text("handed out")
    spend(visitor.api, *raws(page, "given"))
    come_back_until(page, "claimed", row(page, 2))
    choose(row(page, 2), "Let in")
    expect_shown(dialog, "only the guest's own browser has the code")
    press(dialog, "Let in")
    expect(state(page, 2)).to_have_text("admitted")
    expect_text(page, "[data-part=admitted]", "2")
    assert_list_goes_over_offline(visitor, item_id)


def assert_list_goes_over_offline(visitor, item_id):
    """Each night has a list of its own, which is a file without a network."""
    door = open_door(visitor, item_id)
    expect_text(door, "#ready-count", "2 units")
    visitor.go_offline()
    press(door, "Export guest list")
    dialog = door.get_by_role("dialog")
    expect_shown(dialog, "You're offline. You can still download it.")
    with door.expect_download() as download:
        press(dialog, "Download")
    assert download.value.suggested_filename == "Concert Thu, Nov 28 guest list.txt"
