"""The My deeds page in a browser.

What is held there, every way in which it moves, and its file.
"""

import json

from playwright.sync_api import expect

from tests.page import steps
from tests.page.test_pages import FIRST_LOAD_BYTES_MAX
from tests.page.visitor import hold_back
from tests.support.waiting import wait_until


def test_units_are_sent_as_a_link_and_the_change_comes_back(visitor):
    page, _ = steps.hold(visitor, 10, metadata=steps.SHED | {"description": "a " * 300})
    expect(page.get_by_role("button", name="Send")).to_be_in_viewport(ratio=1)
    steps.send(page, "11")
    field = page.get_by_label("How many?")
    expect(field).to_have_accessible_description("You have 10 units.")
    expect(field).to_be_focused()
    assert steps.amounts(page) == {"held": [10]}

    dialog = steps.send(page, "3")

    expect(dialog.get_by_role("button", name="Done")).to_be_in_viewport(ratio=1)
    expect(dialog.get_by_role("img", name="QR code")).to_be_visible()
    assert steps.amounts(page) == {"given": [3], "held": [7], "spent": [10]}
    assert steps.live_amounts(visitor.origin, page) == [3, 7]
    dialog.get_by_role("button", name="Done").click()
    expect(page.locator(".holding-sum")).to_have_text("7 units of 10 · 3 waiting")


def come_back_until(page, is_so):
    """Come back to a page, which asks every other second, until it shows something."""
    wait_until(lambda: page.evaluate("dispatchEvent(new Event('focus'))") and is_so())


def test_a_claim_is_neutral_news_and_only_what_was_never_handed_out_is_lost(visitor):
    page, item_id = steps.hold(visitor, 3, 4, metadata=steps.TICKET)
    steps.give(page, "4")
    steps.spend(visitor.origin, steps.raws(page, "given")[0])
    page.get_by_role("link", name="All deeds").click()

    # An open page notices by itself, here when the person comes back to it.
    come_back_until(
        page, page.get_by_text("Claimed: 4 units of “A ticket”.").is_visible
    )
    expect(page.locator("[data-row]")).to_contain_text("4 claimed")
    expect(page.locator("main .bad:visible")).to_have_count(0)
    steps.spend(visitor.origin, steps.raws(page, "held")[0])
    page.get_by_role("button", name="Refresh").click()

    expect(page.locator("#notices")).to_have_text(
        "No longer yours: 3 units of “A ticket”."
    )
    page.get_by_role("button", name="Refresh").click()
    expect(page.locator("#notices")).to_have_text("Everything is up to date.")
    steps.open_deed(page, item_id)
    gone = page.get_by_text("3 units are no longer yours: they were claimed.")
    expect(gone).to_have_class("notice bad")
    expect(page.locator("[data-part=sum]")).to_have_text("Nothing here")
    # It is red until it was seen.
    page.go_back()
    expect(page.locator("main .bad:visible")).to_have_count(0)
    page.go_forward()
    expect(gone).to_have_class("faint")


def test_the_maker_of_a_deed_sees_where_all_of_it_is(visitor):
    page, item_id = steps.hold_links(visitor, 20, unit="ticket", metadata=steps.TICKET)
    expect(page.get_by_text("You made this.")).to_be_visible()
    expect(page.get_by_role("link", name="Door mode")).to_have_attribute(
        "href", f"/door#{item_id}"
    )

    steps.give(page, "2")
    steps.spend(visitor.origin, steps.raws(page, "given")[0])

    overview = page.locator("[data-part=overview] dd:visible")
    come_back_until(page, lambda: overview.all_inner_texts() == ["20", "2", "2", "18"])
    expect(page.locator(".holding-sum")).to_have_text(
        "18 \N{MULTIPLICATION SIGN} ticket of 20"
    )


def test_a_deed_that_only_has_the_name_of_another_says_so(visitor):
    page, _ = steps.hold(visitor, 3, metadata=steps.TICKET)
    forged = f"deed_{'0' * 26}"
    keep(page, {forged: "a  Ticket"})

    page.goto(f"{visitor.origin}/wallet#{forged}")

    expect(page.locator("[data-part=origin]")).to_have_class("notice bad")
    expect(
        page.get_by_text("Another deed of the same name is in your wallet")
    ).to_be_visible()


def test_each_deed_and_the_history_have_an_address_and_the_keyboard_follows(visitor):
    page, item_id = steps.hold(visitor, 3, metadata=steps.TICKET)
    name = page.get_by_role("heading", name="A ticket", level=1)
    expect(name).to_be_focused()
    expect(page).to_have_title("A ticket · Deeds")

    page.go_back()
    expect(page.locator(f"a[href='#{item_id}']")).to_be_focused()
    expect(page).to_have_title("My deeds · Deeds")
    page.get_by_role("link", name="History").click()
    expect(page.get_by_text("Created 3 units of “A ticket”")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Created 3 units of “A ticket”")).to_be_visible()
    visitor.go("/wallet#deed_nobody")
    expect(page.get_by_role("heading", name="This deed is not here")).to_be_visible()
    page.get_by_role("link", name="All deeds").click()
    expect(page.locator("[data-row]")).to_have_count(1)


def keep(page, names):
    """Put a unit of each of these deeds into the wallet, past the service."""
    items = [
        {"key": each, "id": each, "total": 9, "metadata": json.dumps({"name": name})}
        for each, name in names.items()
    ]
    shared = {
        "amount": 1,
        "secret": "a",
        "state": "held",
        "createdAt": 1,
        "changedAt": 1,
    }
    outputs = [{"key": f"{each}.a", "itemId": each} | shared for each in names]
    for kind, records in [("items", items), ("outputs", outputs)]:
        page.evaluate("given => inBrowser.put(given)", [kind, records])


LOADED = """performance.getEntries().reduce(
  (sum, each) => sum + (each.encodedBodySize ?? 0), 0)"""


def test_the_list_is_there_before_the_scripts_of_the_page_of_a_deed(visitor):
    steps.hold(visitor, 3, metadata=steps.TICKET)
    waiting = hold_back(visitor.page, "**/{deed,offers}_view.js")
    page = visitor.go("/wallet")
    expect(page.locator("[data-row]")).to_contain_text("You have 3")
    wait_until(lambda: page.evaluate("1") and waiting)
    assert page.evaluate(LOADED) < FIRST_LOAD_BYTES_MAX


def test_from_eight_deeds_on_the_list_is_searched_by_name_and_mark(visitor):
    page = visitor.go("/wallet")
    keep(page, {f"deed_{n}{'0' * 22}abcz": f"Seat {n}" for n in range(8)})
    search, rows = (
        page.get_by_label("Search by name or mark"),
        page.locator("[data-row]"),
    )

    search.fill("seat 3")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Seat 3")
    search.fill("5000·abcz")
    expect(rows).to_contain_text("Seat 5")
    search.fill("nothing")
    expect(page.get_by_text("No deed has this name or mark.")).to_be_visible()


def test_units_are_split_into_links_that_are_all_alike(visitor):
    page, _ = steps.hold(visitor, 10, metadata=steps.TICKET)
    split = page.get_by_role("button", name="Split “A ticket”")
    split.press("Enter")
    count, dialog = page.get_by_label("How many links?"), page.get_by_role("dialog")
    expect(count).to_be_focused()
    page.keyboard.press("Escape")
    expect(split).to_be_focused()
    split.press("Enter")
    count.fill("11")
    page.keyboard.press("Enter")
    expect(dialog.get_by_text("You have 10 units.")).to_have_class("error")
    expect(count).to_be_focused()
    count.fill("2")
    dialog.get_by_label("How many each?").fill("3")
    expect(dialog.get_by_text("2 links of 3 units each, 4 units left.")).to_be_visible()
    page.keyboard.press("Enter")

    expect(dialog).to_be_hidden()
    expect(page.get_by_role("heading", name="Links")).to_be_visible()
    assert steps.live_amounts(visitor.origin, page) == [3, 3, 4]
    steps.give(page, "4")
    split.click()
    dialog.get_by_text("Different amounts").click()
    expect(dialog.get_by_text("This uses up link 2/2.")).to_be_visible()


def test_units_are_split_into_different_amounts_and_merged_again(visitor):
    page, _ = steps.hold(visitor, 4)
    page.get_by_role("button", name="Split").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("Different amounts").click()
    amount = dialog.get_by_label("Amount 1")
    expect(amount).to_be_focused()
    page.keyboard.type("5")
    page.keyboard.press("Enter")
    expect(dialog.locator(".error:visible")).to_have_text(
        "Together they are more than 4 units."
    )
    amount.fill("1")
    page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    steps.open_parts(page)
    expect(page.locator("[data-part=parts] .part-units")).to_have_text(
        ["3 units", "1 unit"]
    )
    page.get_by_role("button", name="Merge").click()
    dialog.get_by_role("button", name="Merge").click()
    expect(dialog).to_be_hidden()
    expect(page.locator(".part:visible")).to_have_count(0)
    assert steps.live_amounts(visitor.origin, page) == [4]


def test_a_send_without_an_answer_is_sent_again_by_its_page(visitor):
    page, _ = steps.hold(visitor, 10, metadata=steps.TICKET)

    steps.send_offline(visitor, "3")
    visitor.context.set_offline(False)
    expect(page.get_by_role("dialog")).to_contain_text("3 units")
    expect(page.get_by_role("heading", name="Not finished yet")).to_be_hidden()
    page.get_by_role("button", name="Done").click()
    # An answer that comes late opens nothing over what a person has begun meanwhile.
    steps.send_offline(visitor, "1")
    page.get_by_role("button", name="Take back 3 units").click()
    visitor.context.set_offline(False)
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Your link is ready under Links.")).to_be_visible()
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator(".holding-sum")).to_have_text("6 units of 10 · 4 waiting")
