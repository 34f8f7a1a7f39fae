"""The My deeds page in a browser: what is held there, every way in which it moves, and its file."""

import json

from playwright.sync_api import expect

from tests.page import steps
from tests.support.waiting import wait_until


def take_back(page):
    """Press the button, and then the one that says yes in the dialog that asks."""
    page.get_by_role("button", name="Take back").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Take back").click()
    return dialog


def test_units_are_sent_as_a_link_and_the_change_comes_back(visitor):
    page, item_id = steps.hold(visitor, 10, metadata=steps.SHED)
    steps.send(page, "11")
    field = page.get_by_label("Units to send")
    expect(field).to_have_accessible_description("You do not hold that many units.")
    expect(field).to_be_focused()
    assert steps.amounts(page) == {"held": [10]}

    dialog = steps.send(page, "3")

    link = dialog.get_by_label("Claim link", exact=True).input_value()
    [given] = steps.raws(page, "given")
    assert link == steps.link(visitor.origin, given)
    assert given.startswith(f"+3.{item_id}.")
    expect(dialog.get_by_label("Raw output")).to_have_value(given)
    expect(dialog.get_by_role("img", name="QR code of the claim link")).to_be_visible()
    assert steps.amounts(page) == {"given": [3], "held": [7], "spent": [10]}
    assert steps.live_amounts(visitor.origin, page) == [3, 7]
    dialog.get_by_role("button", name="Done").click()
    expect(page.locator(".holding-sum")).to_have_text("7 units here · 3 units in links")


def test_a_link_is_taken_back_and_worth_nothing_then_unless_somebody_was_faster(visitor):
    page, _ = steps.hold(visitor, 10, metadata=steps.TICKET)
    steps.give(page, "3")
    [given] = steps.raws(page, "given")
    expect(page.get_by_text("waiting", exact=True)).to_be_visible()

    take_back(page)

    expect(page.get_by_text("3 units are yours again.")).to_be_visible()
    expect(page.locator("[data-part=sum]")).to_have_text("10 units")
    assert steps.amounts(page) == {"held": [3, 7], "spent": [3, 10]}
    assert steps.check(visitor.origin, [given]) == ["spent"]
    expect(page.locator("#history > li > p:first-child")).to_have_text(
        [
            "Took back 3 units of “A ticket”",
            "Made a link of 3 units of “A ticket”",
            "Minted 10 units of “A ticket”",
        ]
    )
    steps.give(page, "3")
    steps.spend(visitor.origin, steps.raws(page, "given")[0])
    dialog = take_back(page)
    expect(dialog.get_by_role("alert")).to_contain_text("These units were taken already.")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("taken", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Take back")).to_have_count(0)
    expect(page.locator("#history")).to_contain_text("refused")
    assert steps.live_amounts(visitor.origin, page) == [7]


def test_what_was_spent_elsewhere_is_said_by_the_next_visit_and_by_a_check(visitor):
    page, _ = steps.hold(visitor, 3, 4, metadata=steps.TICKET)
    steps.give(page, "4")
    steps.spend(visitor.origin, steps.raws(page, "held")[0])
    page.reload()
    expect(page.locator("#checked")).to_have_text(
        "Spent elsewhere: 3 units of “A ticket”. Whoever had a copy was faster."
    )
    steps.spend(visitor.origin, steps.raws(page, "given")[0])

    page.get_by_role("button", name="Check their state").click()

    expect(page.locator("#checked p")).to_have_text(
        [
            "A link was claimed: 4 units of “A ticket” are somebody else's now.",
            "Checked: there is nothing here that could be spent.",
        ]
    )
    expect(page.locator("[data-part=sum]")).to_have_text("Nothing")
    expect(page.get_by_text("Some of it was spent elsewhere")).to_be_visible()
    steps.open_parts(page)
    expect(page.get_by_text("spent elsewhere", exact=True)).to_be_visible()


def test_an_output_is_split_into_amounts_and_what_is_left_and_merged_again(visitor):
    page, _ = steps.hold(visitor, 10)
    steps.open_parts(page)
    split = page.get_by_role("button", name="Split")
    split.focus()

    page.keyboard.press("Enter")
    expect(page.get_by_label("Units of part 1")).to_be_focused()
    page.keyboard.press("Escape")
    expect(split).to_be_focused()
    split.click()
    dialog = page.get_by_role("dialog")
    page.keyboard.type("2")
    dialog.get_by_role("button", name="Add a part").click()
    page.keyboard.type("9")
    page.keyboard.press("Enter")
    last = dialog.get_by_role("textbox").last
    expect(last).to_have_accessible_description("Together they are more than 10.")
    expect(last).to_be_focused()
    last.fill("3")
    expect(dialog.get_by_text("What is left stays one part: 5 units.")).to_be_visible()
    page.keyboard.press("Enter")

    expect(page.locator(".part-units strong")).to_have_text(["5 units", "3 units", "2 units"])
    # The button is gone with its part, so the heading above it has the focus.
    expect(page.locator("[data-focus]")).to_be_focused()
    assert steps.live_amounts(visitor.origin, page) == [2, 3, 5]
    page.get_by_role("button", name="Merge into one").click()
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    expect(page.locator(".part-units strong")).to_have_text(["10 units"])
    assert steps.amounts(page) == {"held": [10], "spent": [2, 3, 5, 10]}
    assert steps.live_amounts(visitor.origin, page) == [10]


def test_a_link_is_shared_and_a_raw_output_copied(visitor):
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    visitor.page.add_init_script("navigator.share = async (data) => { window.shared = data; };")
    page, _ = steps.hold(visitor, 10, metadata=steps.TICKET)

    dialog = steps.send(page, "3")
    link = dialog.get_by_label("Claim link", exact=True).input_value()
    dialog.get_by_role("button", name="Share").click()
    wait_until(lambda: page.evaluate("window.shared"))
    assert page.evaluate("window.shared") == {"text": "3 units of “A ticket”", "url": link}
    dialog.get_by_role("button", name="Copy the claim link").click()
    expect(dialog.get_by_role("status")).to_have_text("The link to 3 units is copied.")
    page.keyboard.press("Escape")
    steps.open_parts(page)
    page.get_by_role("button", name="Copy 7 units").click()
    expect(page.get_by_text("Whoever has this raw output can take 7 units.")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == steps.raws(page, "held")[0]


def send_offline(visitor, amount):
    visitor.context.set_offline(True)
    steps.send(visitor.page, amount)
    error = visitor.page.locator("[data-holding] [data-error]")
    expect(error).to_contain_text("It is being sent again.")
    expect(visitor.page.get_by_role("heading", name="Not finished yet")).to_be_visible()


def test_a_send_without_an_answer_is_sent_again_by_its_page_or_the_next_visit(visitor):
    page, _ = steps.hold(visitor, 10, metadata=steps.TICKET)
    expect(page.get_by_role("heading", name="A ticket")).to_be_visible()

    send_offline(visitor, "3")
    visitor.context.set_offline(False)
    expect(page.get_by_role("dialog")).to_contain_text("3 units to hand over")
    expect(page.get_by_role("heading", name="Not finished yet")).to_be_hidden()
    page.get_by_role("button", name="Done").click()
    send_offline(visitor, "2")
    page.close()
    visitor.context.set_offline(False)
    page = visitor.open_tab("/wallet")

    expect(page.locator("#notices")).to_have_text("Finished: Made a link of 2 units of “A ticket”.")
    expect(page.locator(".holding-sum")).to_have_text("5 units here · 5 units in links")
    assert steps.amounts(page) == {"given": [2, 3], "held": [5], "spent": [7, 10]}


PASSPHRASE = "four words, not connected"


def export(page, directory):
    """Write the file and return its path."""
    for label in ["Passphrase for the file", "The same once more"]:
        page.get_by_label(label).fill(PASSPHRASE)
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
        expect(page.locator("#export-done")).to_contain_text("The file is written.")
    path = directory / download.value.suggested_filename
    download.value.save_as(path)
    return path


def read_in(page, path, passphrase=PASSPHRASE):
    page.get_by_label("File of a wallet").set_input_files(path)
    page.get_by_label("Its passphrase").fill(passphrase)
    page.get_by_role("button", name="Import").click()


def test_a_cleared_profile_reads_its_file_offline_and_finishes_what_was_begun(visitor, tmp_path):
    page, _ = steps.hold(visitor, 10, metadata=steps.TICKET)
    steps.give(page, "3")
    send_offline(visitor, "2")
    path = export(page, tmp_path)
    before = steps.records(page), steps.records(page, "operations")
    written = path.read_text()
    assert [each for each in before[0] if each["secret"] in written] == []
    assert json.loads(written)["kdf"]["iterations"] == 600_000
    visitor.forget()
    visitor.context.set_offline(False)
    page = visitor.go("/wallet")
    expect(page.get_by_text("There is nothing here yet.")).to_be_visible()
    visitor.context.set_offline(True)

    read_in(page, path, "another one")
    field = page.get_by_label("Its passphrase")
    expect(field).to_have_accessible_description("The passphrase does not open this file.")
    expect(field).to_be_focused()
    assert steps.records(page) == []
    read_in(page, path)

    expect(page.locator("#import-done")).to_have_text(
        "The file is read. New here: 4 of its 4 parts. "
        "Whether it is all still unspent could not be checked now."
    )
    sums = page.locator(".holding-sum")
    expect(sums).to_have_text("0 units here · 3 units in links · 5 units on their way")
    expect(page.get_by_role("heading", name="A ticket")).to_be_visible()
    assert (steps.records(page), steps.records(page, "operations")) == before
    visitor.context.set_offline(False)
    expect(sums).to_have_text("5 units here · 5 units in links")
    assert steps.amounts(page) == {"given": [2, 3], "held": [5], "spent": [7, 10]}
    assert steps.live_amounts(visitor.origin, page) == [2, 3, 5]


def test_what_cannot_be_exported_is_told_beside_its_field(visitor):
    page = visitor.go("/wallet")
    first, second = "Passphrase for the file", "The same once more"

    for passphrase, again, at_fault, said in [
        ("too short", "too short", first, "Take at least 10 characters."),
        (PASSPHRASE, "mistyped", second, "The two are not the same."),
        (PASSPHRASE, PASSPHRASE, first, "There is nothing here yet to write."),
    ]:
        page.get_by_label(first).fill(passphrase)
        page.get_by_label(second).fill(again)
        page.get_by_role("button", name="Export").click()
        expect(page.locator("#export-error")).to_have_text(said)
        expect(page.get_by_label(at_fault)).to_be_focused()
        expect(page.get_by_label(at_fault)).to_have_attribute("aria-invalid", "true")
