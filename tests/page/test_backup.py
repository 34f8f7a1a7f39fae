"""The file of a wallet in a browser.

It is written, read in a cleared profile, and refused.
"""

import json

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    TICKET,
    amounts,
    give,
    hold,
    live_amounts,
    open_deed,
    press,
    records,
    send_offline,
)

slow = pytest.mark.slow

PASSPHRASE = "four words, not connected"


def confirm_passphrase(dialog, passphrase, again):
    dialog.get_by_label("Passphrase", exact=True).fill(passphrase)
    dialog.get_by_label("Repeat passphrase").fill(again)
    press(dialog, "Back up")


def back_up(page):
    """Write the file and return its path."""
    press(page, "Back up")
    dialog = page.get_by_role("dialog")
    with page.expect_download() as download:
        confirm_passphrase(dialog, PASSPHRASE, PASSPHRASE)
        expect(dialog).to_be_hidden()
    return download.value.path()


def restore(page, path, passphrase):
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Backup file").set_input_files(path)
    dialog.get_by_label("Its passphrase").fill(passphrase)
    press(dialog, "Restore")


def test_a_cleared_profile_reads_its_file_offline_and_goes_on(visitor):
    page, item_id = hold(visitor, 10, metadata=TICKET)
    give(page, "3")
    send_offline(visitor, "2")
    page.get_by_role("link", name="All deeds").click()
    path = back_up(page)
    outputs = records(page)
    visitor.forget()
    visitor.context.set_offline(False)
    page = visitor.go("/wallet")
    visitor.context.set_offline(True)
    press(page, "Restore")
    restore(page, path, "another one")
    field = page.get_by_label("Its passphrase")
    said = "The passphrase does not open this file."
    expect(field).to_have_accessible_description(said)
    expect(field).to_be_focused()

    restore(page, path, PASSPHRASE)

    # The part that was spent counts for nothing.
    said = "Restored. New here: 4 of 4 parts. Its state could not be checked now."
    expect(page.locator("#notices")).to_have_text(said)
    open_deed(page, item_id)
    sums = page.locator(".holding-sum")
    expect(sums).to_have_text("Nothing here of 10 · 5 units on the way · 3 waiting")
    assert records(page) == outputs
    # What was begun is finished.
    visitor.context.set_offline(False)
    expect(sums).to_have_text("5 units of 10 · 5 waiting")
    assert amounts(page) == {"given": [2, 3], "held": [5], "spent": [7, 10]}
    assert live_amounts(visitor.api, page) == [2, 3, 5]


@slow
def test_after_the_first_backup_one_tap_writes_the_next(visitor):
    page, item_id = hold(visitor, 10)
    page.go_back()
    state = page.locator("#backup-state")
    expect(state).to_contain_text("Not backed up yet.")
    back_up(page)
    expect(state).to_have_text("Everything is backed up.")
    open_deed(page, item_id)
    give(page, "3")
    page.get_by_role("link", name="All deeds").click()
    expect(state).to_have_text("1 change since the last backup.")

    with page.expect_download() as download:
        press(page, "Back up")
        expect(state).to_have_text("Everything is backed up.")

    assert json.loads(download.value.path().read_text())


@slow
@pytest.mark.parametrize(
    ("passphrase", "again", "at_fault", "said"),
    [
        ("too short", "too short", "Passphrase", "Enter at least 10 characters."),
        (PASSPHRASE, "mistyped", "Repeat passphrase", "The two are not the same."),
    ],
)
def test_a_wrong_passphrase_is_told_at_its_field_alone(
    visitor, passphrase, again, at_fault, said
):
    page, _ = hold(visitor, 1)
    page.go_back()
    press(page, "Back up")
    dialog = page.get_by_role("dialog")

    confirm_passphrase(dialog, passphrase, again)

    expect(dialog.locator(".error:visible")).to_have_text(said)
    field = dialog.get_by_label(at_fault, exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
