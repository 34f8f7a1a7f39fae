"""The file of a wallet in a browser.

It is written, read in a cleared profile, and refused.
"""

import json

from playwright.sync_api import expect

from tests.page import steps

PASSPHRASE = "four words, not connected"


def confirm_passphrase(dialog, passphrase, again):
    dialog.get_by_label("Passphrase", exact=True).fill(passphrase)
    dialog.get_by_label("Repeat passphrase").fill(again)
    dialog.get_by_role("button", name="Back up").click()


def back_up(page):
    """Write the file and return its path."""
    page.get_by_role("button", name="Back up").click()
    dialog = page.get_by_role("dialog")
    with page.expect_download() as download:
        confirm_passphrase(dialog, PASSPHRASE, PASSPHRASE)
        expect(dialog).to_be_hidden()
    return download.value.path()


def restore(page, path, passphrase):
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Backup file").set_input_files(path)
    dialog.get_by_label("Its passphrase").fill(passphrase)
    dialog.get_by_role("button", name="Restore").click()


def test_a_cleared_profile_reads_its_file_offline_and_finishes_what_was_begun(visitor):
    page, item_id = steps.hold(visitor, 10, metadata=steps.TICKET)
    steps.give(page, "3")
    steps.send_offline(visitor, "2")
    page.get_by_role("link", name="All deeds").click()
    path = back_up(page)
    before = steps.records(page), steps.records(page, "operations")
    written = path.read_text()
    assert [each for each in before[0] if each["secret"] in written] == []
    visitor.forget()
    visitor.context.set_offline(False)
    page = visitor.go("/wallet")
    visitor.context.set_offline(True)

    page.get_by_role("button", name="Restore").click()
    restore(page, path, "another one")
    field = page.get_by_label("Its passphrase")
    expect(field).to_have_accessible_description(
        "The passphrase does not open this file."
    )
    expect(field).to_be_focused()
    assert steps.records(page) == []
    restore(page, path, PASSPHRASE)

    # The part that was spent counts for nothing.
    expect(page.locator("#notices")).to_have_text(
        "Restored. New here: 4 of 4 parts. Its state could not be checked now."
    )
    steps.open_deed(page, item_id)
    sums = page.locator(".holding-sum")
    expect(sums).to_have_text("Nothing here of 10 · 5 units on the way · 3 waiting")
    expect(page.get_by_role("heading", name="A ticket")).to_be_visible()
    assert (steps.records(page), steps.records(page, "operations")) == before
    visitor.context.set_offline(False)
    expect(sums).to_have_text("5 units of 10 · 5 waiting")
    assert steps.amounts(page) == {"given": [2, 3], "held": [5], "spent": [7, 10]}
    assert steps.live_amounts(visitor.origin, page) == [2, 3, 5]


def test_after_the_first_backup_one_tap_writes_the_next(visitor):
    page, item_id = steps.hold(visitor, 10)
    page.go_back()
    state = page.locator("#backup-state")
    expect(state).to_contain_text("Not backed up yet.")
    back_up(page)
    expect(state).to_have_text("Everything is backed up.")
    steps.open_deed(page, item_id)
    steps.give(page, "3")
    page.get_by_role("link", name="All deeds").click()
    expect(state).to_have_text("1 change since the last backup.")

    with page.expect_download() as download:
        page.get_by_role("button", name="Back up").click()
        expect(state).to_have_text("Everything is backed up.")
    assert json.loads(download.value.path().read_text())


def serve_narrow(route):
    text = route.fetch().text().replace("400 * 1024 * 1024", "1000")
    route.fulfill(content_type="text/javascript", body=text)


def test_what_is_wrong_is_said_at_its_field_alone_and_of_a_file_that_is_too_large(
    visitor,
):
    visitor.page.route("**/backup_forms.js", serve_narrow)
    page, _ = steps.hold(visitor, 1)
    page.go_back()
    page.get_by_role("button", name="Back up").click()
    dialog = page.get_by_role("dialog")
    for passphrase, again, at_fault, said in [
        ("too short", "too short", "Passphrase", "Enter at least 10 characters."),
        (PASSPHRASE, "mistyped", "Repeat passphrase", "The two are not the same."),
    ]:
        confirm_passphrase(dialog, passphrase, again)
        expect(dialog.locator(".error:visible")).to_have_text(said)
        field = dialog.get_by_label(at_fault, exact=True)
        expect(field).to_be_focused()
        expect(field).to_have_attribute("aria-invalid", "true")
    confirm_passphrase(dialog, PASSPHRASE, PASSPHRASE)
    expect(dialog.get_by_role("alert")).to_have_text("Too much for one backup file.")
