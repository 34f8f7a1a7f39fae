"""The links of a deed in a browser.

Each way of handing one out, the list of them, and a series.
"""

import csv
import io

import pytest
from playwright.sync_api import expect

from tests.page import steps
from tests.support.waiting import wait_until


@pytest.fixture
def clipboard(visitor):
    """A function that reads what the visitor's page has copied."""
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return lambda: visitor.page.evaluate("navigator.clipboard.readText()")


def put_back(page):
    """Make all that is handed out held again, as it was before."""
    changed = [
        {name: value for name, value in record.items() if name != "givenAt"}
        | {"state": "held"}
        for record in steps.records(page)
    ]
    page.evaluate("given => inBrowser.put(given)", ["outputs", changed])


def row(page, number):
    return page.locator("[data-part=links] li").nth(number - 1)


def download_text(page, press):
    with page.expect_download() as download:
        press()
    return download.value.path().read_bytes().decode()


def for_many(page, name, **choice):
    """Press a button for many links, and choose them in its dialog."""
    page.get_by_role("button", name=name, exact=True).click()
    dialog = page.get_by_role("dialog")
    for label, value in choice.items():
        field = dialog.get_by_label(label.replace("_", " "))
        if label == "Which_links":
            field.select_option(label=value)
        else:
            field.fill(value)
    return dialog.get_by_role("button", name=name, exact=True)


def test_a_link_that_was_copied_is_never_sent_to_another(visitor, clipboard):
    page, item_id = steps.hold_links(visitor, 3, metadata=steps.TICKET)
    row(page, 1).get_by_role("button", name="Copy").click()
    wait_until(lambda: f"/claim/{item_id}#+1." in clipboard())
    [copied] = steps.raws(page, "given")
    assert clipboard() == steps.link(visitor.origin, copied)

    for _ in range(2):
        steps.give(page, "1")

    assert steps.amounts(page) == {"given": [1, 1, 1], "spent": [1, 1]}
    assert steps.check(visitor.origin, [copied]) == ["unspent"]
    expect(page.get_by_role("button", name="Send")).to_be_hidden()
    row(page, 1).get_by_role("button", name="Take back").click()
    page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    expect(row(page, 1).locator(".tag")).to_have_text("taken back")
    expect(page.locator(".holding-sum")).to_have_text("1 unit of 3 · 2 waiting")
    assert steps.check(visitor.origin, [copied]) == ["spent"]
    expect(row(page, 1)).to_be_focused()
    row(page, 2).get_by_role("button", name="Copy").focus()
    spent = [record | {"state": "spent"} for record in steps.records(page)]
    page.evaluate("given => inBrowser.put(given)", ["outputs", spent])
    expect(row(page, 2)).to_be_focused()


def test_each_way_of_handing_out_a_link_is_written_down_before_it(visitor, clipboard):
    visitor.page.add_init_script(
        "navigator.share = async (data) => { window.shared = data; };"
    )
    page, _ = steps.hold_links(visitor, 1, unit="seat", metadata=steps.TICKET)
    [raw] = steps.raws(page, "held")
    link = f"{steps.link(visitor.origin, raw)}&unit=seat"
    row(page, 1).get_by_role("button", name="Show link").click()
    dialog = page.get_by_role("dialog")
    expect(
        dialog.get_by_role("img", name="QR code: 1 seat of “A ticket”")
    ).to_be_visible()
    press = {
        name: dialog.get_by_role("button", name=name).click
        for name in ["Share", "Copy link"]
    }
    save = dialog.get_by_role("button", name="Download").click
    ways = [
        lambda: None,
        press["Share"],
        press["Copy link"],
        lambda: download_text(page, save),
        dialog.get_by_text("For developers").click,
    ]

    for hand_out in ways:
        hand_out()
        wait_until(lambda: steps.amounts(page) == {"given": [1]})
        put_back(page)

    assert page.evaluate("window.shared") == {
        "text": "1 seat of “A ticket”",
        "url": link,
    }
    assert clipboard() == link
    expect(dialog.get_by_label("Claim link")).to_have_value(link)
    expect(dialog.get_by_label("Raw output")).to_have_value(raw)
    assert download_text(page, save).splitlines() == ["1 seat of “A ticket”", link, raw]
    visitor.assert_good()
    # What another tab has spent meanwhile is not handed over.
    put_back(page)
    page.evaluate("navigator.clipboard.writeText('')")
    [record] = steps.records(page)
    page.evaluate(
        "given => inBrowser.put(given)", ["outputs", [record | {"state": "spent"}]]
    )
    press["Copy link"]()
    expect(dialog.get_by_role("status")).to_have_text(
        "These units are no longer here to hand out."
    )
    assert clipboard() == ""


def test_links_are_exported_by_number_and_copied_all_at_once(visitor, clipboard):
    page, _ = steps.hold_links(visitor, 5, metadata=steps.TICKET)
    row(page, 2).get_by_label("Note for link 2/5").fill("=Anna, Berta")
    page.keyboard.press("Tab")
    wait_until(lambda: [each for each in steps.records(page) if each.get("note")])

    save = for_many(page, "CSV", Which_links="By number (5)", From="2", To="3").click
    text = download_text(page, save)

    given = sorted(steps.records(page), key=lambda record: record["number"])
    assert [record["state"] for record in given] == [
        "held",
        "given",
        "given",
        "held",
        "held",
    ]
    links = [steps.link(visitor.origin, f"+1.{each['key']}") for each in given]
    assert list(csv.reader(io.StringIO(text.removeprefix("\ufeff")))) == [
        ["number", "units", "link", "note"],
        ["2", "1", links[1], "'=Anna, Berta"],
        ["3", "1", links[2], ""],
    ]
    for_many(page, "Copy all links").click()
    wait_until(lambda: clipboard() == "\n".join([links[0], links[3], links[4]]))
    steps.spend(visitor.origin, f"+1.{given[0]['key']}")
    page.get_by_label("Which links to show").select_option(label="waiting (5)")
    page.reload()
    expect(page.locator("[data-part=links] .tag")).to_have_text(
        ["claimed", *4 * ["waiting"]]
    )
    page.get_by_label("Which links to show").select_option(label="claimed (1)")
    expect(row(page, 1)).to_contain_text("1/5")
    expect(row(page, 1).get_by_role("button")).to_have_count(0)


def test_many_links_are_taken_back_and_a_closed_dialog_says_which_are_not(
    visitor, clipboard
):
    page, _ = steps.hold_links(visitor, 5, metadata=steps.TICKET)
    for_many(page, "Copy all links").click()
    wait_until(clipboard)
    given = sorted(steps.records(page), key=lambda record: record["number"])
    held = []
    page.route("**/v1/swap", lambda route: held.insert(0, route), times=1)
    page.evaluate("document.body.dataset.arrayMax = '1'")
    with page.expect_request("**/v1/swap"):
        for_many(page, "Take back", Which_links="All waiting (5)").click()
    page.keyboard.press("Escape")
    held[0].continue_()
    expect(page.locator("#notices")).to_have_text("The others stay handed out.")
    page.evaluate("document.body.dataset.arrayMax = '256'")
    steps.spend(visitor.origin, f"+1.{given[1]['key']}")
    for_many(page, "Take back", Which_links="All waiting (4)").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert steps.amounts(page) == {"held": [1, 3], "spent": 5 * [1], "void": [4]}


def test_a_series_is_prepared_by_its_page_which_says_why_it_waits(visitor):
    page = visitor.go("/wallet")
    wanted = {"links": {"count": 130, "each": 2}, "unit": "seat"}
    page.route("**/v1/swap", lambda route: route.abort())
    item_id = page.evaluate("given => inBrowser.mint(given)", [wanted, steps.TICKET])

    steps.open_deed(page, item_id)

    bar = page.locator("[data-part=links] .notice")
    expect(bar).to_contain_text("31 of 130 links are ready. You can leave this page.")
    expect(page.locator("#begun")).to_contain_text("No connection.")
    page.unroute("**/v1/swap")
    page.evaluate("dispatchEvent(new Event('online'))")
    expect(bar).to_be_hidden()
    rows = page.locator("[data-part=links] li")
    expect(rows).to_have_count(100)
    page.get_by_role("button", name="Show more").click()
    expect(rows).to_have_count(130)
    expect(rows.last).to_contain_text("130/130 · 2 \u00d7 seat")
