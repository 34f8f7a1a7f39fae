"""Door mode: printed codes before Chromium's camera, and each ticket claimed once."""

import re

from playwright.sync_api import expect

from tests.page import steps
from tests.page.camera import film
from tests.page.visitor import profile, visiting
from tests.support.needs import require
from tests.support.waiting import wait_until

CONCERT = {"name": "Concert, 1 June"}
ALIKE = "Another deed of the same name: not one of yours"
TAKEN = "Already claimed elsewhere"
WAIT = "No connection. Hold on."
ONLINE = "dispatchEvent(new Event('online'))"
# What fills the screen, however short.
RECORD = """() => {
  window.said = [];
  const verdict = document.querySelector(".door-verdict");
  const note = () => window.said.push(`${door.dataset.kind}: ${verdict.textContent}`);
  new MutationObserver(note).observe(verdict, { childList: true, subtree: true });
}"""


def mint(origin, *amounts, metadata=CONCERT):
    """Mint an item.

    Return its id, and for each amount a link and the raw output that it holds.
    """
    item_id = steps.mint_deed(
        origin, metadata, *(f"+{n}.s{i}" for i, n in enumerate(amounts))
    )
    raws = [f"+{n}.{item_id}.s{i}" for i, n in enumerate(amounts)]
    return item_id, [steps.link(origin, raw) for raw in raws], raws


def wait_for_last(page, *texts):
    """Wait until the list says these of the first codes, times apart, in order."""

    def last():
        found = page.locator("#door-last li > span").all_text_contents()
        return [re.sub(r"\d+(:| s).*", "…", text) for text in reversed(found)]

    wait_until(lambda: last()[: len(texts)] == list(texts))


def open_door(visitor, item_id):
    page = visitor.go(f"/door#{item_id}")
    page.get_by_role("button", name="Start").click()
    return page


def type_link(page, text):
    page.get_by_label("Ticket link").fill(text)
    page.keyboard.press("Enter")


def test_a_ticket_on_paper_is_let_in_once_and_a_forged_one_never(
    launch, web_service, tmp_path
):
    require("npm: make test fetches what reads codes")
    item_id, [link], raws = mint(web_service.url, 2)
    _, [forged], forged_raws = mint(web_service.url, 2)
    film(tmp_path / "film.y4m", [("", 0.5), (link, 0.8), (forged, 0.8), ("", 1.2)])
    camera = f"--use-file-for-fake-video-capture={tmp_path / 'film.y4m'}"

    with (
        launch(camera) as browser,
        profile(browser, viewport={"width": 390, "height": 844}) as context,
        visiting(context, web_service.url) as visitor,
    ):
        context.grant_permissions(["camera"])
        page = visitor.go(f"/door#{item_id}")
        assert visitor.asked("/vendor/") == []
        page.evaluate(RECORD)
        page.get_by_role("button", name="Start").click()
        wait_for_last(page, "Valid, 2 units", ALIKE, "Let in …")
        said = {"valid: Valid2 units", f"refused: {ALIKE}"}
        assert said < set(page.evaluate("window.said"))

        expect(page.locator("#door-count")).to_have_text("1 (2 units)")
        assert steps.check(visitor.origin, [*raws, *forged_raws]) == [
            "spent",
            "unspent",
        ]
        assert len(visitor.swap_keys()) == 1
        page.get_by_role("button", name="Stop").click()
        assert not page.evaluate("document.getElementById('door-video').srcObject")


def test_without_a_reader_links_are_typed_and_one_without_an_answer_is_claimed_once(
    visitor, visit
):
    item_id, [used, link], [raw, _] = mint(visitor.origin, 1, 1)
    steps.spend(visitor.origin, raw)
    page = visitor.go(f"/door#{item_id}")
    # As in a page of a service that has no package.
    page.evaluate("delete document.body.dataset.codeReader")
    page.get_by_role("button", name="Start").click()

    expect(
        page.get_by_text("This browser cannot read QR codes. Type or paste")
    ).to_be_visible()
    expect(page.get_by_role("button", name="Turn on the camera")).to_be_hidden()
    type_link(page, "not a link")
    wait_for_last(page, "Not a ticket")
    expect(page.get_by_label("Ticket link")).to_have_value("not a link")
    type_link(page, used)
    wait_for_last(page, "Not a ticket", TAKEN)
    page.route("**/v1/swap", lambda route: route.abort())
    for _ in range(2):
        type_link(page, link)
        wait_for_last(page, "Not a ticket", TAKEN, WAIT)
    expect(page.locator("#door-count")).to_have_text("0")
    page.unroute("**/v1/swap")
    page.evaluate(ONLINE)

    wait_for_last(page, "Not a ticket", TAKEN, "Valid")
    expect(page.locator("#door-count")).to_have_text("1")
    assert len(set(visitor.swap_keys())) == 2
    other = open_door(visit(), item_id)
    type_link(other, link)
    wait_for_last(other, TAKEN)
    page = visitor.go("/door")
    assert (
        page.get_by_role("link", name="Concert, 1 June").bounding_box()["height"] >= 44
    )


def test_the_issuer_chooses_the_deed_and_opens_its_door_on_another_phone(visitor):
    page, item_id = steps.hold(visitor, 1, 1, metadata=CONCERT)
    [raw, _] = steps.raws(page, "held")
    page = visitor.go("/door")

    page.get_by_role("link", name="Concert, 1 June").click()
    expect(page.get_by_role("heading", name="Concert, 1 June")).to_be_visible()
    page.get_by_role("button", name="Open on another phone").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("img")).to_be_visible()
    expect(dialog).to_contain_text(f"{visitor.origin}/door#{item_id}")
    visitor.assert_good()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Start").click()
    type_link(page, raw)

    wait_for_last(page, "Valid")
    page.reload()
    expect(page.locator("#ready-count")).to_have_text("1")
    assert steps.check(visitor.origin, [raw]) == ["spent"]


def test_an_open_door_fits_a_phone_and_can_be_read_in_each_of_its_colours(visitor):
    page = open_door(visitor, steps.mint_deed(visitor.origin, {"name": "x" * 80}))
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
    assert page.evaluate("getComputedStyle(door).backgroundColor") == "rgb(11, 107, 58)"


def test_a_door_that_does_not_know_its_deed_yet_opens_with_the_next_connection(visitor):
    visitor.page.route("**/v1/item/*", lambda route: route.abort())
    page = visitor.go(f"/door#{steps.mint_deed(visitor.origin, CONCERT)}")
    expect(page.get_by_text("No connection.")).to_be_visible()
    expect(page.locator("#choose")).to_be_hidden()
    page.unroute("**/v1/item/*")
    page.evaluate(ONLINE)

    expect(page.get_by_role("heading", name="Concert, 1 June")).to_be_visible()
