"""The file of a wallet in a browser.

It is written, read in a cleared profile, and refused.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    MINE,
    PASSPHRASE,
    PICK,
    THEIRS,
    TICKET,
    amounts,
    back_up,
    close_report,
    confirm_passphrase,
    expect_shown,
    expect_sum,
    expect_text,
    follow,
    give,
    hold,
    live_amounts,
    open_deed,
    press,
    put,
    raws,
    records,
    restore,
    restore_elsewhere,
    send,
    send_offline,
    spend,
    svg,
    take_in,
)
from tests.support.waiting import wait_until

slow = pytest.mark.slow


def test_a_cleared_profile_reads_its_file_offline_and_goes_on(visitor):
    page, item_id = hold(visitor, 10, metadata=TICKET)
    give(page, "3")
    send_offline(visitor, "2")
    follow(page, "All deeds")
    path = back_up(page)
    outputs = records(page)
    visitor.forget()
    visitor.go_online()
    page = visitor.go("/wallet")
    # The page has asked for it, or does now.
    page.evaluate("inBrowser.load('wallet/file.js').then(() => 0)")
    visitor.go_offline()
    press(page, "Restore")
    restore(page, path, "another one")
    field = page.get_by_label("Passphrase of the file")
    said = "The passphrase doesn't open this file."
    expect(field).to_have_accessible_description(said)
    expect(field).to_be_focused()

    restore(page, path, PASSPHRASE)
    press(page, MINE)

    # The part that was spent counts for nothing.
    close_report(page, "Restored: 1 deed.", "We'll check again when it can.")
    open_deed(page, item_id)
    expect_sum(page, "0 units of 10 · 5 units on the way")
    assert records(page) == outputs
    # What was begun is finished.
    visitor.go_online()
    expect_sum(page, "5 units of 10")
    assert amounts(page) == {"given": [2, 3], "held": [5], "spent": [7, 10]}
    assert live_amounts(visitor.api, page) == [2, 3, 5]
    # So is the look.
    wait_until(lambda: {"key": "look", "left": []} in records(page, "notes"))


@slow
@pytest.mark.parametrize(
    ("passphrase", "again", "at_fault", "said"),
    [
        ("too short", "too short", "Passphrase", "Enter at least 10 characters."),
        (PASSPHRASE, "mistyped", "Repeat passphrase", "The passphrases don't match."),
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

    expect_text(dialog, ".error:visible", said)
    field = dialog.get_by_label(at_fault, exact=True)
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")


@slow
def test_what_is_wrong_with_a_file_is_told_at_its_field(visitor):
    page, _ = hold(visitor, 1)
    page.go_back()
    whole = back_up(page).read_text()
    changed = whole.replace('"data": "', '"data": "A')
    newer = whole.replace('"version": 4', '"version": 5')
    kept = records(page)
    press(page, "Restore")
    dialog = page.get_by_role("dialog")

    for text, said in (
        (changed, "This file is damaged: part of it"),
        (newer, "A newer version of this page made this file."),
        ('{"a": 1}', "This is not a backup file."),
        ("", "This file is empty."),
    ):
        file = {"name": "x", "mimeType": "text/plain", "buffer": text.encode()}
        restore(page, file, PASSPHRASE)

        expect(dialog.locator(".error:visible")).to_contain_text(said)
        expect(dialog.get_by_label("Backup file")).to_be_focused()

    assert records(page) == kept


def test_what_was_done_since_a_backup_is_found_and_told_by_value(visitor):
    page, item_id = hold(visitor, 100, metadata=TICKET)
    page.go_back()
    path = back_up(page)
    open_deed(page, item_id)
    give(page, "2")
    spend(visitor.api, raws(page, "given")[0])
    hold(visitor, 1)
    visitor.go("/wallet")
    came_in = "1 new item isn't backed up yet."
    expect(page.locator("#list > #backup-now")).to_contain_text(came_in)
    visitor.assert_still()
    open_deed(page, item_id)
    with page.expect_download():
        press(send(page, "3"), "Back up")

    visitor.forget()
    page = visitor.go("/wallet")
    press(page, "Restore")
    restore(page, path, PASSPHRASE)
    press(page, MINE)

    found = "Found since the backup: 98 units of “A ticket”."
    close_report(page, re.compile("^This backup is from .* is not in it.$"), found)
    open_deed(page, item_id)
    expect_sum(page, "95 units of 100")
    moved = "2 units were used or sent from another device."
    expect_shown(page, moved)


def test_what_may_have_been_handed_out_is_here_and_can_be_taken_back(visitor):
    page, item_id = hold(visitor, links=40)
    page.go_back()
    restore_elsewhere(visitor, back_up(page))
    expect(page.locator("#holdings")).to_contain_text("40 counted as handed out")
    open_deed(page, item_id)
    visitor.assert_good()
    spend(visitor.api, raws(page, "given")[0])
    press(page, "Take them back")

    press(page.get_by_role("dialog"), "Take them back")

    expect_sum(page, "39 units of 40")


READ = f"({PICK})().then((file) => file.getFile()).then((file) => file.text())"


def test_a_file_that_was_picked_once_is_written_by_itself(visitor):
    page, _ = hold(visitor, 10)
    page.go_back()
    page.evaluate(f"window.showSaveFilePicker = {PICK}; 0")
    visitor.taps = 0
    press(page, "Back up")
    confirm_passphrase(page.get_by_role("dialog"), PASSPHRASE, PASSPHRASE)
    state = page.locator("#backup-state")
    expect(state).to_contain_text(" to my-deeds.json.")
    before = page.evaluate(READ)

    page.evaluate("inBrowser.mint([[{amount: 1}], null])")

    # It cannot be read in the moment in which the page replaces it.
    wait_until(lambda: len(page.evaluate(READ + ".catch(() => '')")) > len(before))
    expect(state).to_contain_text(" to my-deeds.json.")
    visitor.assert_taps(2)
    after = page.evaluate(READ)

    # The browser asks a person again, maybe on another day: then it takes a tap.
    page.evaluate("FileSystemHandle.prototype.queryPermission = async () => 'prompt'")
    page.evaluate("inBrowser.mint([[{amount: 1}], null])")
    expect(state).to_have_text("1 new item isn't backed up yet.")
    press(page, "Back up")
    expect(state).to_contain_text(" to my-deeds.json.")
    assert len(page.evaluate(READ)) > len(after)


@slow
def test_somebody_elses_backup_does_not_become_the_wallet_here(visitor, stranger):
    page, _ = hold(visitor, 5, metadata=TICKET)
    page.go_back()
    path = back_up(page)
    page = stranger.go("/wallet")
    press(page, "Restore")

    restore(page, path, PASSPHRASE)
    question = page.get_by_role("dialog", name="Is this your own backup?")
    expect(question).to_be_visible()
    stranger.assert_good()
    press(question, "Cancel")
    expect_shown(page, "Nothing was restored.")
    assert records(page) == []
    restore(page, path, PASSPHRASE)
    press(question, "No, it")

    close_report(page, "Restored: 1 deed.", "can spend this until you move it")
    [theirs] = records(visitor.page, "seeds")
    seeds = {seed["key"]: "isOwn" in seed for seed in records(page, "seeds")}
    assert sorted(seeds.values()) == [False, True]
    assert not seeds[theirs["key"]]


@slow
def test_a_ninth_wallet_takes_the_place_of_an_empty_one(visitor, stranger):
    page, _ = hold(visitor, 5, metadata=TICKET)
    page.go_back()
    path = back_up(page)
    page, _ = hold(stranger, 1)
    page.go_back()
    put(page, "seeds", [{"key": f"{at:064x}", "createdAt": at} for at in range(7)])
    press(page, "Restore")

    restore(page, path, PASSPHRASE)
    press(page, THEIRS)
    question = page.get_by_role("dialog", name="Remove an empty wallet?")
    expect_shown(question, "Wallets that seem empty: 7.")
    stranger.assert_good()
    press(question, "Cancel")
    expect_shown(page, "Nothing was restored.")
    assert amounts(page) == {"held": [1]}
    restore(page, path, PASSPHRASE)
    press(page, THEIRS)
    press(question, "Remove and restore")

    close_report(page, "Restored: 1 deed.")
    seeds = records(page, "seeds")
    assert len([seed for seed in seeds if "isUnused" not in seed]) == 2


@slow
def test_a_picture_is_in_no_file_and_comes_back_from_the_registry(visitor):
    metadata = TICKET | {"image": svg(9, 9, f"<!--{'x' * 3000}-->")}
    page, _ = hold(visitor, 5, metadata=metadata)
    page.go_back()
    before = records(page, "items")
    path = back_up(page)
    visitor.forget()
    page = visitor.go("/wallet")
    page.evaluate("inBrowser.load('wallet/file.js').then(() => 0)")
    visitor.go_offline()

    take_in(page, path)

    [item] = records(page, "items")
    assert (item["metadata"], item["isCut"]) == ('{"name":"A ticket"}', True)
    visitor.go_online()
    expect(page.locator("[data-row] img")).to_have_attribute("src", metadata["image"])
    assert records(page, "items") == before
