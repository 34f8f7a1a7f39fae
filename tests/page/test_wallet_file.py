"""A wallet as a file: written in one profile, read in another, and with no network at all."""

import json

from playwright.sync_api import expect

from tests.page.holding import amounts, give, hold, live_amounts, raws, records, send
from tests.page.samples import spend

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


def test_a_cleared_profile_reads_its_file_offline_and_goes_on(visitor, tmp_path):
    page, _ = hold(visitor, 10, metadata={"name": "A ticket"})
    give(page, "3")
    path = export(page, tmp_path)
    before = records(page), records(page, "operations")
    written = path.read_text()
    assert [each for each in before[0] if each["secret"] in written] == []
    assert json.loads(written)["kdf"]["iterations"] == 600_000
    visitor.forget()
    page = visitor.go("/wallet")
    expect(page.get_by_text("There is nothing here yet.")).to_be_visible()
    visitor.context.set_offline(True)

    read_in(page, path, "another one")
    field = page.get_by_label("Its passphrase")
    expect(field).to_have_accessible_description("The passphrase does not open this file.")
    expect(field).to_be_focused()
    assert records(page) == []
    read_in(page, path)

    expect(page.locator("#import-done")).to_have_text(
        "The file is read. New here: 3 of its 3 parts. "
        "Whether it is all still unspent could not be checked now."
    )
    expect(page.locator(".holding-sum")).to_have_text("7 units here · 3 units in links")
    expect(page.get_by_role("heading", name="A ticket")).to_be_visible()
    assert (records(page), records(page, "operations")) == before
    visitor.context.set_offline(False)
    send(page, "2")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert amounts(page) == {"given": [2, 3], "held": [5], "spent": [7, 10]}
    assert live_amounts(visitor.origin, page) == [2, 3, 5]


def test_a_file_finishes_what_was_under_way_and_says_what_was_spent_since(visitor, tmp_path):
    page, _ = hold(visitor, 10)
    hold(visitor, 4, metadata={"name": "A ticket"})
    [gone] = [raw for raw in raws(page, "held") if raw.startswith("+4.")]
    page.route("**/v1/swap", lambda route: route.abort())
    page.get_by_label("Units to send").last.fill("3")
    page.get_by_role("button", name="Make a link").last.click()
    expect(page.get_by_role("heading", name="Not finished yet")).to_be_visible()
    path = export(page, tmp_path)
    spend(visitor.origin, gone)
    visitor.forget()

    page = visitor.go("/wallet")
    read_in(page, path)

    expect(page.locator("#checked")).to_contain_text("Spent elsewhere: 4 units of “A ticket”.")
    expect(page.locator(".holding-sum").first).to_have_text("7 units here · 3 units in links")
    assert live_amounts(visitor.origin, page) == [3, 7]


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
