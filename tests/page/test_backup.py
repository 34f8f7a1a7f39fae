"""The file of a wallet in a browser.

It is written, read in a cleared profile, and refused.
"""

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    MINE,
    PASSPHRASE,
    PICK,
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
)
from tests.support.waiting import wait_until

slow = pytest.mark.slow


def expect_error(dialog, label, said):
    """Expect that only this field shows an error, and that it has the focus."""
    field = dialog.get_by_label(label, exact=True)
    expect_text(dialog, ".error:visible", said)
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_be_focused()


@slow
def test_a_cleared_profile_reads_its_file_offline_and_goes_on(visitor):
    # A picture is in no file, and comes back from the registry.
    metadata = TICKET | {"image": svg(9, 9, f"<!--{'x' * 3000}-->")}
    page, item_id = hold(visitor, 10, metadata=metadata)
    give(page, "3")
    send_offline(visitor, "2")
    follow(page, "All deeds")
    path = back_up(page)
    outputs, items = records(page), records(page, "items")
    visitor.forget()
    page = visitor.go("/wallet")
    # The page has asked for it, or does now.
    page.evaluate("inBrowser.load('wallet/file.js').then(() => 0)")
    visitor.go_offline()
    press(page, "Restore")
    dialog = page.get_by_role("dialog")
    restore(page, {"name": "x", "mimeType": "x/x", "buffer": b"{}"}, PASSPHRASE)
    expect_error(dialog, "Backup file", "This is not a backup file.")
    restore(page, path, "another one")
    said = "The passphrase doesn't open this file."
    expect_error(dialog, "Passphrase of the file", said)

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
    wait_until(lambda: records(page, "items") == items)


@slow
def test_what_may_have_been_handed_out_is_here_and_can_be_taken_back(visitor):
    page, item_id = hold(visitor, links=3)
    page.go_back()
    restore_elsewhere(visitor, back_up(page))
    expect(page.locator("#holdings")).to_contain_text("3 counted as handed out")
    open_deed(page, item_id)
    visitor.assert_good()
    spend(visitor.api, raws(page, "given")[0])
    press(page, "Take them back")

    press(page.get_by_role("dialog"), "Take them back")

    expect_sum(page, "2 units of 3")


# It cannot be read in the moment in which the page replaces it.
READ = f"""({PICK})().then((file) => file.getFile()).then((file) => file.text())
  .catch(() => "")"""


@slow
def test_a_file_that_was_picked_once_is_written_by_itself(visitor):
    _, item_id = hold(visitor, 10)
    page = visitor.go("/wallet")
    on_top = page.locator("#list > #backup-now")
    expect(on_top).to_contain_text("Not backed up yet.")
    visitor.assert_still()
    page.evaluate(f"window.showSaveFilePicker = {PICK}; 0")
    press(page, "Back up")
    dialog = page.get_by_role("dialog")
    confirm_passphrase(dialog, "too short", "too short")
    expect_error(dialog, "Passphrase", "Enter at least 10 characters.")
    confirm_passphrase(dialog, PASSPHRASE, "mistyped")
    expect_error(dialog, "Repeat passphrase", "The passphrases don't match.")
    confirm_passphrase(dialog, PASSPHRASE, PASSPHRASE)
    state = page.locator("#backup-state")
    expect(state).to_contain_text(" to my-deeds.json.")
    before = page.evaluate(READ)
    visitor.taps = 0

    page.evaluate("inBrowser.mint([[{amount: 1}], null])")

    wait_until(lambda: len(page.evaluate(READ)) > len(before))
    expect(state).to_contain_text(" to my-deeds.json.")
    visitor.assert_taps(0)
    after = page.evaluate(READ)

    # The browser asks a person again, maybe on another day: then it takes a tap.
    page.evaluate("FileSystemHandle.prototype.queryPermission = async () => 'prompt'")
    page.evaluate("inBrowser.mint([[{amount: 1}], null])")
    expect(state).to_have_text("1 new item isn't backed up yet.")
    open_deed(page, item_id)
    press(send(page, "3"), "Back up")
    wait_until(lambda: len(page.evaluate(READ)) > len(after))


@slow
def test_somebody_elses_backup_does_not_become_the_wallet_here(visitor, stranger):
    page, _ = hold(visitor, 5, metadata=TICKET)
    page.go_back()
    path = back_up(page)
    page = stranger.go("/wallet")
    # With their own one and the file's they are more than a browser joins.
    put(page, "seeds", [{"key": f"{at:064x}", "createdAt": at} for at in range(7)])
    press(page, "Restore")
    restore(page, path, PASSPHRASE)
    whose = page.get_by_role("dialog", name="Is this your own backup?")
    expect(whose).to_be_visible()
    stranger.assert_good()

    press(whose, "Cancel")
    expect_shown(page, "Nothing was restored.")
    assert records(page) == []
    restore(page, path, PASSPHRASE)
    press(whose, "No, it")
    question = page.get_by_role("dialog", name="Remove an empty wallet?")
    expect_shown(question, "Wallets that seem empty: 7.")
    press(question, "Remove and restore")

    close_report(page, "Restored: 1 deed.", "can spend this until you move it")
    [theirs] = records(visitor.page, "seeds")
    seeds = {seed["key"]: seed for seed in records(page, "seeds")}
    assert "isOwn" not in seeds[theirs["key"]]
    assert len([seed for seed in seeds.values() if "isUnused" not in seed]) == 2
