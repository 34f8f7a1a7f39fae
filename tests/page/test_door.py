"""Door mode: printed codes before Chromium's camera, and each ticket claimed once."""

import re

import pytest
from playwright.sync_api import expect

from tests.page.camera import film
from tests.page.steps import (
    claim_link,
    expect_shown,
    expect_text,
    hold,
    mint_outputs,
    press,
    spend,
)
from tests.support.needs import require

pytestmark = pytest.mark.slow

CONCERT = {"name": "Concert, 1 June"}
# The last verdicts, the newest first.
LAST = "#door-last li > span"
WAITING = "#queue-list li"
# What fills the screen, however short.
RECORD = """() => {
  window.said = [];
  const verdict = document.querySelector(".door-verdict");
  const note = () => window.said.push(`${door.dataset.kind}: ${verdict.textContent}`);
  new MutationObserver(note).observe(verdict, { childList: true, subtree: true });
}"""


@pytest.fixture
def tickets(visitor):
    """Two tickets, to whose door the visitor has a page that is not open yet."""
    raws = mint_outputs(visitor.api, "one", "two", metadata=CONCERT)
    visitor.go(f"/door#{raws[0].split('.')[1]}")
    return raws


def type_link(page, text):
    page.get_by_label("Ticket link").fill(text)
    page.keyboard.press("Enter")


def test_a_ticket_on_paper_is_let_in_once_and_a_forged_one_never(
    visitor, tickets, film_path
):
    require("npm: make test fetches what reads codes")
    [forged] = mint_outputs(visitor.api, "forged", metadata=CONCERT)
    codes = [claim_link(visitor.origin, raw) for raw in (tickets[0], forged)]
    film(film_path, [("", 0.4), (codes[0], 0.7), (codes[1], 0.7), ("", 0.9)])
    visitor.context.grant_permissions(["camera"])
    page = visitor.page
    assert visitor.asked("/vendor/") == []
    page.evaluate(RECORD)

    press(page, "Start")
    visitor.taps = 0

    again = page.locator(LAST).filter(has_text="2nd scan")
    expect(again).not_to_have_count(0)
    visitor.assert_taps(0)
    said = page.evaluate("window.said")
    assert "valid: Valid, 5" in said
    for start in ("refused: Forged ticket", "again: 2nd scanLet in once, "):
        assert [each for each in said if each.startswith(start)]
    expect_text(page, "#door-count", "5 units")
    assert visitor.api.check(tickets[0], forged) == ["spent", "unspent"]
    assert len(visitor.asked("/v1/swap")) == 1
    press(page, "Stop")
    assert not page.evaluate("document.getElementById('door-video').srcObject")


def test_without_a_reader_of_codes_links_are_typed_and_wait_for_the_network(
    visitor, tickets
):
    page = visitor.page
    # As in a page of a service that has none.
    page.evaluate("delete document.body.dataset.codeReader")
    raw, spent = tickets
    press(page, "Start")
    expect_shown(page, "This browser can't read QR codes. Type or paste")
    expect(page.get_by_role("button", name="Turn on the camera")).to_be_hidden()
    type_link(page, "not a link")
    expect_text(page, LAST, ["Not a ticket"])
    expect(page.get_by_label("Ticket link")).to_have_value("not a link")
    visitor.go_offline()
    type_link(page, claim_link(visitor.origin, raw))
    type_link(page, spent)
    expect(page.locator(WAITING)).to_have_count(2)
    # As another door does.
    spend(visitor.api, spent)

    visitor.go_online()

    taken = "Already claimed elsewhere"
    expect_text(page, LAST, [taken, "Valid, 5", "Not a ticket"])
    expect(page.locator(WAITING)).to_have_count(0)
    assert len(visitor.asked("/v1/swap")) == 2
    page.reload()
    expect_text(page, "#ready-count", "5 units")
    press(page, "Start")
    type_link(page, raw)
    expect_text(page, "#verdict-title", "2nd scan")


def test_the_issuer_chooses_the_deed_and_opens_its_door_on_another_phone(visitor):
    about = "Date: 2126-06-01 20:00 +01:00\nPlace: Moonlight Club"
    _, item_id = hold(visitor, 1, metadata=CONCERT | {"description": about})
    when, where = "Sat, Jun 1, 2126 · 8:00\u202fPM", "Moonlight Club"
    row = visitor.go("/wallet").locator("[data-row]")
    expect_text(row, "[data-card=when]", when)
    expect_text(row, "[data-card=where]", where)
    page = visitor.go("/door")
    # As for another night of the same name.
    expect_text(page, "#choose-list .hint", f"{when}\n{where}")
    assert page.evaluate("inBrowser.smallControls()") == []
    page.get_by_role("link", name="Concert, 1 June").click()
    expect_text(page, "#ready [data-card=date]", when)

    press(page, "Open on another phone")

    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("img")).to_be_visible()
    expect(dialog).to_contain_text(f"{visitor.origin}/door#{item_id}")
    visitor.assert_good()


def test_scans_that_wait_can_be_cancelled_and_are_sent_when_a_person_says_so(
    visitor, tickets
):
    page = visitor.page
    waiting = page.locator(WAITING)
    press(page, "Start")
    # What reads codes has come by then.
    expect_shown(page, "not allowed to use the camera")
    visitor.go_offline()
    for raw in tickets:
        type_link(page, claim_link(visitor.origin, raw))
    type_link(page, claim_link(visitor.origin, tickets[1]))
    expect_text(page, "#verdict-title", "2nd scan")
    expect(waiting).to_have_count(2)

    press(waiting.last, "Cancel")
    expect(waiting).to_have_count(1)
    assert page.evaluate("door.dataset.kind") == ""
    press(page, "Stop")
    press(page, "Later")
    expect(page.locator("#door")).to_be_hidden()
    visitor.go_online()
    page.reload()
    expect_text(page, "#ready-waiting", re.compile(r"^1 waiting: \d+:\d\d:\d\d"))
    press(page, "Start")
    visitor.assert_good()
    assert not visitor.asked("/v1/swap")
    # It is carried out, and the answer lost.
    page.route("**/v1/swap", lambda route: route.fetch() and route.abort())
    with page.expect_event("requestfailed"):
        press(page, "Check now")
    press(page, "Cancel")
    expect(waiting).to_contain_text("May have been admitted already.")
    page.unroute_all(behavior="ignoreErrors")
    expect_text(page, "#verdict-title", "Cancelled too late")
    assert visitor.api.check(*tickets) == ["spent", "unspent"]


def test_an_open_door_fits_a_phone_and_can_be_read_in_each_colour(visitor):
    item_id = visitor.api.mint("+1.a", metadata={"name": "x" * 80})
    page = visitor.go(f"/door#{item_id}")
    press(page, "Start")
    page.get_by_role("button", name="Stop").hover()
    page.keyboard.press("Tab")

    for kind in ["", "refused", "waiting", "again", "list", "valid"]:
        page.evaluate("kind => { door.dataset.kind = kind; }", kind)
        visitor.assert_good()

    # It has the colour of the text, whose contrast axe-core has checked.
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineColor")
    assert ring == page.evaluate("getComputedStyle(door).color")
    assert page.evaluate("door.scrollWidth <= innerWidth")
    page.emulate_media(forced_colors="active")
    green = "rgb(11, 107, 58)"
    assert page.evaluate("getComputedStyle(door).backgroundColor") == green
    icon = "getComputedStyle(document.querySelector('.door-title'), '::before')"
    assert page.evaluate(f"{icon}.backgroundColor") == ring
