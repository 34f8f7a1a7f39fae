"""Several doors and the organiser, each in a browser of its own, with one list."""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

from tests.page.camera import film
from tests.page.steps import (
    COPIED,
    TICKET,
    choose,
    claim_link,
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
    send,
    spend,
)
from tests.page.test_door import LAST, type_link
from tests.page.test_show import code_in
from tests.page.visitor import visiting
from tests.support.needs import require
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

NIGHT = {"name": "Concert", "description": "Date: 2126-11-28 20:00 +01:00"}
VERDICT = "#verdict-title"
TICKET_TEXT = "#verdict-ticket"


@pytest.fixture
def organiser(visitor):
    """A person with five tickets, of which three are handed out, at their list."""
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


def row(page, number):
    return page.locator("[data-part=links] li").nth(number - 1)


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


def admit(page, *raws):
    """Let tickets in whose links are typed, and close the door."""
    press(page, "Start")
    for raw in raws:
        type_link(page, raw)
        expect(page.locator(VERDICT)).to_have_text("Valid")
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
    admitted, nothing = "New: 1 admitted.", "Nothing new."
    for path, said in zip(
        (*files, files[0]), (admitted, admitted, nothing), strict=True
    ):
        take_in(organiser, path, f"The list has 1 ticket. {said}")

    # What doors let in was claimed, too.
    states = ["admitted", "admitted", "claimed", *2 * ["left"]]
    expect(organiser.locator("[data-part=links] .state")).to_have_text(states)
    expect_text(organiser, "[data-part=admitted]", "2")
    follow(first, "Who is in")
    expect(first.get_by_label("Which links to show")).to_have_value("admitted")
    expect_sum(first, "Let in here and on imported lists: 1")
    expect(first.get_by_role("link", name="Door mode")).to_be_visible()
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


def handed_out(organiser):
    """Return what the second ticket's code holds, and its link as it is sent."""
    choose(row(organiser, 2), "Show link")
    dialog = organiser.get_by_role("dialog")
    printed = code_in(dialog)
    press(dialog, "Done")
    choose(row(organiser, 2), "Copy")
    expect_notice(organiser, "Link copied: Ticket 2 of 5")
    return printed, organiser.evaluate(COPIED)


def expect_states(organiser, *expected):
    expect(organiser.locator("[data-part=links] .state")).to_have_text([*expected])


def test_the_number_of_a_ticket_that_was_claimed_at_home_is_said_and_not_believed(
    visitor, organiser, stranger, other
):
    row(organiser, 2).get_by_label("Note for 2 of 5").fill("Anna")
    organiser.keyboard.press("Tab")
    printed, sent = handed_out(organiser)
    guest = stranger.go(sent.removeprefix(visitor.origin))
    press(guest, "Claim")
    expect_shown(guest, "Yours now")
    press(stranger.go("/wallet"), "Show code")
    shown = code_in(guest)
    assert shown != printed
    assert {each.rpartition("&")[2] for each in (printed, sent, shown)} == {"n=2"}
    door = open_door(other, records(guest)[0]["itemId"])
    take_in(door, hand_over(organiser))
    press(door, "Start")
    type_link(door, shown)
    said = "Code says 2 · Anna"
    expect_text(door, TICKET_TEXT, "Anna Code says 2")
    expect(door.locator(LAST)).to_contain_text(said)
    other.assert_good()
    press(door, "Stop")

    take_in(organiser, hand_over(door), "New: 1 admitted and 1 note.")

    come_back_until(organiser, "in, its code says", row(organiser, 2))
    out, left = ["handed out"], ["left"]
    expect_states(organiser, *out, "in, its code says", *out, *2 * left)
    expect_text(organiser, "[data-part=admitted]", "1")
    organiser.get_by_label("Which links to show").select_option(
        "Not seen at a door (2)"
    )
    expect_states(organiser, *out, *out)
    visitor.assert_good()
    organiser.get_by_label("Which links to show").select_option("")
    undo(row(organiser, 2))
    expect_states(organiser, *out, "admission undone", *out, *2 * left)


def test_imported_lists_can_be_forgotten(visitor, organiser, tmp_path):
    item_id = tickets(organiser)[0].split(".")[1]
    path = tmp_path / "list.txt"
    path.write_text(f"deeds door list 1 {item_id}\n{'0' * 16} a1 1")
    take_in(organiser, path, "The list has 1 ticket. New: 1 admitted.")
    rows = organiser.locator("[data-part=links] li")
    expect(rows).to_have_count(6)

    with lists_of(organiser) as door:
        press(door, "Forget imported lists")
        press(door.get_by_role("dialog"), "Forget")
        expect_notice(door, "Forgotten.")

    expect(rows).to_have_count(5)
    visitor.assert_good()


def test_a_door_with_the_organisers_list_knows_numbers_and_what_guests_can_do(
    visitor, organiser, stranger
):
    raw = tickets(organiser)
    door = open_door(stranger, raw[0].split(".")[1])
    take_in(door, hand_over(organiser))
    write_note(organiser, 2, "table 9")
    write_note(organiser, 4, "x" * 80)
    path = hand_over(organiser)
    assert all(each.rpartition(".")[2] not in path.read_text() for each in raw)
    take_in(door, path, "The list has 5 tickets. New: 2 notes.")
    expect_text(door, "#list-count", "5")
    press(door, "Start")

    type_link(door, raw[1])
    # The latest list has the name as it was corrected.
    expect_text(door, TICKET_TEXT, "table 9 No. 2 of 5")
    last = door.locator("#door-last li").first
    expect(last).to_contain_text("2 Valid table 9")
    type_link(door, raw[1])
    expect(door.locator(VERDICT)).to_have_text("2nd scan")
    stranger.assert_good()
    spend(visitor.api, raw[2])
    type_link(door, raw[2])
    expect_text(door, TICKET_TEXT, "No. 3 of 5")
    expect(last).to_contain_text("3 Already claimed elsewhere")
    remedy = "claimed at home, or taken back. Ask for the code in My deeds."
    expect(door.locator("#verdict-detail")).to_contain_text(remedy)
    stranger.go_offline()
    type_link(door, raw[3])
    expect_text(door, TICKET_TEXT, f"{'x' * 80} No. 4 of 5")
    cancel = door.get_by_role("button", name="Cancel")
    expect(cancel).to_be_in_viewport(ratio=1)


def test_an_open_door_reads_another_ones_list_from_its_screen(
    visitor, organiser, stranger, other, film_path
):
    require("npm: make test fetches what reads codes")
    raw = tickets(organiser)
    item_id = raw[0].split(".")[1]
    first = open_door(stranger, item_id)
    admit(first, raw[0])
    text = hand_over(first).read_text()

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
    expect(state(organiser, 1)).to_have_text("admitted")
    film(film_path, [(text, 0.7), ("", 1.8)])
    second = open_door(other, item_id)
    press(second, "Start")
    # A guest may have shown it.
    question = second.get_by_role("dialog", name="Import this list?")
    expect(question).to_be_visible()
    film(film_path, [("", 0.5)])
    press(question, "Import")
    expect(second.locator("#door [data-notices]")).to_have_text(
        "The list has 1 ticket. New: 1 admitted."
    )
    for scheme in ("light", "dark"):
        second.emulate_media(color_scheme=scheme)
        other.assert_good()
    type_link(second, raw[0])

    expect(
        second.locator(LAST).filter(has_text="In at another door")
    ).not_to_have_count(0)


def undo_by_list(organiser, door):
    """Undo at the organiser's what the door let in, which then makes the new link."""
    take_in(organiser, hand_over(door))
    undo(row(organiser, 2))
    come_back_until(organiser, "admission undone", row(organiser, 2))
    expect(row(organiser, 2).locator("[data-part=undo]")).to_be_hidden()
    take_in(door, hand_over(organiser))
    follow(door, "Who is in")
    door.get_by_label("Which links to show").select_option("")
    choose(door.locator("[data-part=links] li"), "New code")


@pytest.mark.parametrize("undone_by", ["the door", "the organiser"])
def test_an_undone_admission_gives_the_guest_a_new_code(
    visitor, organiser, stranger, other, undone_by
):
    raw = tickets(organiser)
    item_id = raw[0].split(".")[1]
    door = open_door(stranger, item_id)
    take_in(door, hand_over(organiser))
    admit(door, raw[1])
    if undone_by == "the organiser":
        undo_by_list(organiser, door)
    else:
        follow(door, "Who is in")
        undo(door.locator("[data-part=links]"))

    dialog = door.get_by_role("dialog")
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    expect(dialog).to_contain_text("2 of 5 · 2nd link · table 4")
    press(dialog, "Done")
    expect(door.locator("[data-part=new-code]:not([hidden])")).to_have_count(0)
    [fresh] = raws(door, "given")
    assert visitor.api.check(raw[1], fresh) == ["spent", "unspent"]
    take_in(organiser, hand_over(door))
    come_back_until(organiser, "admission undone", row(organiser, 2))
    # Where the new link is.
    expect_text(organiser, "[data-part=given]", "3")
    # At another door, or at the same one.
    door = open_door(other if undone_by == "the organiser" else stranger, item_id)
    admit(door, fresh)
    take_in(organiser, hand_over(door))
    expect(row(organiser, 3)).to_contain_text("2nd link admitted")
    expect_text(organiser, "[data-part=given]", "2")


def test_what_is_taken_back_comes_again_under_its_number(organiser, visitor):
    old = tickets(organiser)[1]
    choose(row(organiser, 2), "Take back")
    dialog = organiser.get_by_role("dialog")
    expect(dialog).to_contain_text("Ticket 2 of 5 · table 4")
    dialog.get_by_label("Note on the new link").fill("table 7")
    press(dialog, "Take back")

    again = row(organiser, 2)
    expect(again).to_contain_text("2nd link")
    expect(again.get_by_label("Note")).to_have_value("table 7")
    expect(send(visitor.page, "1")).to_contain_text(
        "Ticket 2 of 5 · 2nd link · table 7"
    )
    door = open_door(visitor, old.split(".")[1])
    press(door, "Start")
    type_link(door, claim_link(visitor.origin, old))
    expect_text(door, "#verdict-title", "Taken back by the organiser")
    expect_text(door, "#verdict-detail", "It is for table 7 now.")


def test_names_that_are_pasted_are_the_notes_of_the_rows_below(organiser):
    organiser.context.grant_permissions(["clipboard-read", "clipboard-write"])
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
    door = open_door(visitor, item_id)
    expect_text(door, "#ready-count", "1 unit")
    choose(row(page, 2), "Let in")
    expect_shown(dialog, "only the guest's own browser has the code")
    press(dialog, "Let in")
    expect(state(page, 2)).to_have_text("admitted")
    expect_text(page, "[data-part=admitted]", "2")
    expect_text(door, "#ready-count", "2 units")


def test_each_night_has_a_list_of_its_own(visitor):
    _, item_id = hold(visitor, links=2, metadata=NIGHT)
    door = open_door(visitor, item_id)
    press(door, "Export guest list")
    with door.expect_download() as download:
        press(door.get_by_role("dialog"), "Download")
    assert download.value.suggested_filename == "Concert Thu, Nov 28 guest list.txt"


def test_without_a_network_a_list_goes_over_as_a_file(organiser, visitor):
    page = open_door(visitor, tickets(organiser)[0].split(".")[1])
    visitor.go_offline()
    press(page, "Export guest list")
    dialog = page.get_by_role("dialog")

    expect_shown(dialog, "You're offline. You can still download it.")
    with page.expect_download():
        press(dialog, "Download")
