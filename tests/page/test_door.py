"""Door mode: printed codes before Chromium's camera, and each ticket claimed once."""

import re

import pytest
from playwright.sync_api import expect

from tests.page.camera import film
from tests.page.steps import claim_link, hold, mint_outputs, press, spend
from tests.support.needs import require

slow = pytest.mark.slow

CONCERT = {"name": "Concert, 1 June"}
ALIKE = "Another deed of the same name: not one of yours"
TAKEN = "Already claimed elsewhere"
# The last verdicts, the newest first.
LAST = "#door-last li > span:first-child"
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


@slow
def test_a_ticket_on_paper_is_let_in_once_and_a_forged_one_never(
    visitor, tickets, film_path
):
    require("npm: make test fetches what reads codes")
    [forged] = mint_outputs(visitor.api, "forged", metadata=CONCERT)
    ticket = tickets[0]
    codes = [claim_link(visitor.origin, raw) for raw in (ticket, forged)]
    film(film_path, [("", 0.4), (codes[0], 0.7), (codes[1], 0.7), ("", 0.9)])
    visitor.context.grant_permissions(["camera"])
    page = visitor.page
    assert visitor.asked("/vendor/") == []
    page.evaluate(RECORD)

    press(page, "Start")

    let_in = re.compile("^Let in ")
    expect(page.locator(LAST).filter(has_text=let_in)).not_to_have_count(0)
    said = {"valid: Valid5 units", f"refused: {ALIKE}"}
    assert said < set(page.evaluate("window.said"))
    expect(page.locator("#door-count")).to_have_text("1 (5 units)")
    assert visitor.api.check(ticket, forged) == ["spent", "unspent"]
    assert len(visitor.asked("/v1/swap")) == 1
    press(page, "Stop")
    assert not page.evaluate("document.getElementById('door-video').srcObject")


def test_without_a_reader_of_codes_links_are_typed(visitor, tickets):
    page = visitor.page
    # As in a page of a service that has none.
    page.evaluate("delete document.body.dataset.codeReader")
    spent, raw = tickets
    spend(visitor.api, spent)
    press(page, "Start")
    said = "This browser cannot read QR codes. Type or paste"
    expect(page.get_by_text(said)).to_be_visible()
    camera = page.get_by_role("button", name="Turn on the camera")
    expect(camera).to_be_hidden()

    type_link(page, "not a link")
    expect(page.locator(LAST)).to_have_text(["Not a ticket"])
    expect(page.get_by_label("Ticket link")).to_have_value("not a link")
    type_link(page, spent)
    expect(page.locator(LAST)).to_have_text([TAKEN, "Not a ticket"])
    type_link(page, claim_link(visitor.origin, raw))
    valid = "Valid, 5 units"
    expect(page.locator(LAST)).to_have_text([valid, TAKEN, "Not a ticket"])

    page.reload()
    expect(page.locator("#ready-count")).to_have_text("1 (5 units)")


@slow
def test_the_issuer_chooses_the_deed_and_opens_its_door_on_another_phone(visitor):
    _, item_id = hold(visitor, 1, metadata=CONCERT)
    page = visitor.go("/door")
    door = page.get_by_role("link", name="Concert, 1 June")
    expect(door).to_be_visible()
    assert page.evaluate("inBrowser.smallControls()") == []
    door.click()
    expect(page.get_by_role("heading", name="Concert, 1 June")).to_be_visible()

    press(page, "Open on another phone")

    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("img")).to_be_visible()
    expect(dialog).to_contain_text(f"{visitor.origin}/door#{item_id}")
    visitor.assert_good()


GREEN = "rgb(11, 107, 58)"


@slow
def test_an_open_door_fits_a_phone_and_can_be_read_in_each_colour(visitor):
    item_id = visitor.api.mint("+1.a", metadata={"name": "x" * 80})
    page = visitor.go(f"/door#{item_id}")
    press(page, "Start")
    page.get_by_role("button", name="Stop").hover()
    page.keyboard.press("Tab")

    for kind in ["", "refused", "waiting", "valid"]:
        page.evaluate("kind => { door.dataset.kind = kind; }", kind)
        visitor.assert_good()

    # As the text, of which axe-core says that it stands out from each ground.
    ring = page.evaluate("getComputedStyle(document.activeElement).outlineColor")
    assert ring == page.evaluate("getComputedStyle(door).color")
    assert page.evaluate("door.scrollWidth <= innerWidth")
    page.emulate_media(forced_colors="active")
    assert page.evaluate("getComputedStyle(door).backgroundColor") == GREEN
