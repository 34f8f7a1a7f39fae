"""The pages in both themes and widths.

Accessible, still, and with nothing from elsewhere.
"""

import base64

import pytest
from playwright.sync_api import expect

from tests.page.steps import (
    SHED,
    TICKET,
    choose,
    claim,
    claim_link,
    expect_text,
    follow,
    hold,
    mint_outputs,
    paste,
    press,
    send,
    spend,
    svg,
    wait_for_rows,
)
from tests.page.visitor import (
    PHONE,
    first_held,
    hold_back,
    make_profile,
    using,
    visiting,
    wait_for_true,
)
from tests.support.api import fresh

pytestmark = pytest.mark.slow

# No rule of the style sheet asks for both theme and width. The last is the one in which
# a test goes on.
LOOKS = [("dark", 1280), ("light", 360)]
# The pages, each with what is there once it can be used.
READY = {
    "/": "h1",
    "/mint": "#create-button:enabled",
    "/claim": "[data-ready]",
    "/claim/{shed}#+95.b": "[data-state=free]",
    "/offer/{offer}": "[data-kind=open]",
    "/wallet": "[data-ready]",
    "/door": "[data-ready]",
    "/door#{ticket}": "[data-ready]",
    "/till": "[data-ready]",
    "/till#{ticket}": "#till",
    "/item/{shed}": "h1",
    "/item/{ticket}": "h1",
    "/item/deed_nobody": "h1",
    "/problems": "h1",
    "/help": "h1",
    "/docs": ".opblock",
}


@pytest.fixture(scope="module")
def ids(phone):
    """Deeds, one with a picture and one without, and an offer of one for the other."""
    shed = phone.api.mint("+5.a", "+95.b", metadata=SHED)
    ticket = phone.api.mint("+100.a", metadata=TICKET)
    offer = phone.api.offer_id([f"+5.{shed}.a"], [fresh(1, ticket)])
    return {"shed": shed, "ticket": ticket, "offer": offer}


def assert_good_in_all_looks(visitor):
    for theme, width in LOOKS:
        visitor.page.emulate_media(color_scheme=theme)
        visitor.page.set_viewport_size({"width": width, "height": 800})
        visitor.assert_good()
        assert visitor.page.evaluate("inBrowser.smallControls()") == []


MOVING = """[...document.querySelectorAll("*")].filter((each) =>
  parseFloat(getComputedStyle(each).transitionDuration) > 0
).map((each) => each.outerHTML)"""
OVERHANGING = """() => [...document.querySelectorAll("body *")].filter((each) => {
  const { left, right } = each.getBoundingClientRect();
  const isWide = document.documentElement.scrollWidth > innerWidth;
  return isWide && (left < 0 || right > innerWidth);
}).map((each) => each.outerHTML.slice(0, 80))"""


def assert_fits_at_twice_the_size_and_from_right_to_left(page):
    # A window of half the width is what 200 % zoom makes of one.
    page.set_viewport_size({"width": 195, "height": 422})

    assert page.evaluate(OVERHANGING) == []
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert page.evaluate(OVERHANGING) == []
    # To those who asked for less motion, nothing of ours moves.
    assert page.evaluate(MOVING) == []


@pytest.mark.parametrize(("path", "ready"), READY.items())
def test_a_page_is_accessible_and_still_and_does_nothing_else(
    visitor, ids, path, ready
):
    page = visitor.go(path.format(**ids))
    page.locator(ready).first.wait_for()

    visitor.assert_still()
    if path == "/item/deed_nobody":
        # What Chromium says of the page itself.
        assert "404 (NOT FOUND)" in visitor.errors.pop()
    assert_good_in_all_looks(visitor)
    assert_fits_at_twice_the_size_and_from_right_to_left(page)


# A person's own setting: pages, and what they measure in letters, follow it.
LARGE = {"webkit": {"webprefs": {"default_font_size": 32}}}
SMALL_PHONE = {"width": 320, "height": 640}
# Whether it lies over all else, from its head to its foot.
IS_ON_TOP = """each => {
  const {left, right, top, bottom} = each.getBoundingClientRect();
  return [top + 1, bottom - 1].every(
    (y) => document.elementFromPoint((left + right) / 2, y) === each);
}"""
# A camera reads one of this size.
CODE_PX_MIN = 180


def assert_seen_at_once(*places):
    for place in places:
        expect(place).to_be_in_viewport(ratio=1)
        assert place.evaluate(IS_ON_TOP)


def assert_code_is_seen_with(code, *buttons):
    assert_seen_at_once(code, *buttons)
    assert code.bounding_box()["width"] >= CODE_PX_MIN


def assert_door_is_read_in_large_letters(visitor, item_id):
    page = visitor.go(f"/door#{item_id}")
    page.locator("#start").click()
    camera = page.locator("#again")
    camera.click()
    assert_seen_at_once(camera, page.locator("#stop"))
    field = page.locator("#type")
    field.fill(field.get_attribute("placeholder"))
    assert field.evaluate("field => field.scrollWidth <= field.clientWidth")

    field.press("Enter")

    expect(page.locator("#door")).to_have_attribute("data-kind", "refused")
    for place in ("#verdict-title", "#verdict-detail"):
        expect(page.locator(place)).to_be_in_viewport(ratio=1)
    verdict = page.locator(".door-verdict")
    assert verdict.evaluate("each => each.scrollHeight <= each.clientHeight")


def assert_codes_are_whole_in_large_letters(visitor, item_id):
    page = visitor.go(f"/wallet#{item_id}")
    page.locator("[data-part=show]").click()
    dialog = page.locator("dialog[open]")
    close = dialog.locator(".action-bar button").last
    assert_code_is_seen_with(dialog.locator(".qr img"), close)
    close.click()

    page = visitor.go(f"/till#{item_id}")
    page.locator("[data-key='1']").click()
    page.locator("#ask").click()
    buttons = [page.locator("#cancel"), page.locator("#copy")]
    assert_code_is_seen_with(page.locator("#request-code img"), *buttons)
    buttons[0].click()
    expect(page.locator("#request")).to_be_hidden()

    page = visitor.go(f"/wallet#{item_id}")
    page.locator("[data-part=send]").click()
    assert_seen_at_once(page.locator("dialog:has(.link-view) .action-bar button"))


def test_nothing_is_cut_off_in_letters_of_twice_the_size(
    browser, web_service, ids, tmp_path
):
    profile = make_profile(tmp_path / "profile", LARGE)

    with using(browser, profile, web_service.url) as visitor:
        page = visitor.page
        page.set_viewport_size(PHONE)
        for path, ready in READY.items():
            page.goto("about:blank")
            visitor.go(path.format(**ids)).locator(ready).first.wait_for()
            # Swagger UI's own table of answers is wider.
            assert path == "/docs" or page.evaluate(OVERHANGING) == []
        about = "Date: 2126-06-01 20:00 +01:00\nPlace: Moonlight Club, Long Street 5\n"
        about += "Unit: Eintrittskarte/Eintrittskarten"
        metadata = {"name": "Sommerkonzert im Schlossgarten", "description": about}
        item_id = visitor.api.mint("+1.large", metadata=metadata)
        claim(visitor, f"+1.{item_id}.large")
        visitor.page.set_viewport_size(SMALL_PHONE)
        assert visitor.page.evaluate(OVERHANGING) == []
        visitor.go("/?language=de")
        assert_door_is_read_in_large_letters(visitor, item_id)
        assert_codes_are_whole_in_large_letters(visitor, item_id)
        assert visitor.page.evaluate(OVERHANGING) == []


REQUESTS_MAX = 12
BYTES_MAX = 140_000


def test_pages_ask_for_little(visitor, ids):
    """From an empty cache, in a browser that holds something."""
    hold(visitor, 4, metadata=SHED)
    session = visitor.context.new_cdp_session(visitor.page)
    session.send("Network.enable")
    session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    too_much = {}

    for path, ready in READY.items():
        visitor.page.goto("about:blank")
        visitor.requests.clear()
        visitor.go(path.format(**ids)).locator(ready).first.wait_for()
        sizes = [each.sizes() for each in visitor.asked(visitor.origin + "/")]
        bytes_sum = sum(
            each["responseHeadersSize"] + each["responseBodySize"] for each in sizes
        )
        # Swagger UI is half a megabyte.
        is_large = bytes_sum > BYTES_MAX and path != "/docs"
        if is_large or len(sizes) > REQUESTS_MAX:
            too_much[path] = len(sizes), bytes_sum

    session.detach()
    assert too_much == {}


def test_claiming_is_accessible_and_still(visitor):
    one, gone, two = mint_outputs(visitor.api, "one", "gone", "two")
    spend(visitor.api, gone)
    page = visitor.go(claim_link("", two))
    wait_for_rows(page, "free")
    # As a link that is followed while the page is open.
    visitor.go(claim_link("", one))
    wait_for_rows(page, "free", "free")
    page.evaluate(
        "addEventListener('click', () => { window.topsAtTap = inBrowser.tops(); })"
    )

    press(page, "Claim")
    wait_for_rows(page, "taken", "free")
    page.get_by_role("link", name="Show in My deeds").wait_for()
    # What is drawn in the task of the tap holds, however late the answer comes.
    assert page.evaluate("inBrowser.tops()") == page.evaluate("topsAtTap")
    visitor.assert_still()
    assert_good_in_all_looks(visitor)

    press(page, "Open another")
    paste(page, f"{two}\n{gone}")
    wait_for_rows(page, "free", "spent")
    assert_good_in_all_looks(visitor)


def test_my_deeds_and_their_dialogs_are_accessible_and_still(visitor):
    page, _ = hold(visitor, 4, 6, metadata=SHED)
    dialog = send(page, "x")
    assert_good_in_all_looks(visitor)
    dialog.get_by_label("How many?").fill("3")
    press(dialog, "Send")
    expect(dialog.locator(".qr img")).to_be_visible()
    assert_good_in_all_looks(visitor)
    press(dialog, "Done")

    page.reload()
    page.locator("main[data-ready]").wait_for()
    visitor.assert_still()
    assert_good_in_all_looks(visitor)
    for name in ["Split", "Merge", "Trade"]:
        choose(page, name)
        assert_good_in_all_looks(visitor)
        page.keyboard.press("Escape")

    follow(page, "All deeds")
    page.locator("[data-row]").wait_for()
    assert_good_in_all_looks(visitor)
    for name in ["Back up", "Restore"]:
        press(page, name)
        assert_good_in_all_looks(visitor)
        page.keyboard.press("Escape")
    follow(page, "History")
    page.locator("#history > li").first.wait_for()
    assert_good_in_all_looks(visitor)


def test_an_operation_of_the_interface_is_accessible(visitor):
    page = visitor.go("/docs")
    page.locator(".opblock-summary-control").first.click()
    page.locator(".responses-table").wait_for()
    assert_good_in_all_looks(visitor)


@pytest.mark.parametrize("path", ["/mint", "/wallet", "/claim/{shed}#+95.b"])
def test_a_page_says_what_it_is_while_its_scripts_are_on_their_way(visitor, ids, path):
    """As on a slow line; nothing of it waits for a script."""
    page = visitor.page
    held = hold_back(page, "**/*.js")

    page.goto(visitor.origin + path.format(**ids), wait_until="commit")

    expect(page.locator("h1").first).to_be_visible()
    expect(page.locator(".lead p").first).to_be_visible()
    expect(page.locator("form:visible, .loading:visible")).not_to_have_count(0)
    assert first_held(page, held)
    page.unroute("**/*.js")
    page.locator("[data-ready], #create-button:enabled").first.wait_for()
    visitor.assert_still()


@pytest.fixture(scope="module")
def reader(browser, web_service):
    """A visitor whose browser runs no scripts."""
    with visiting(browser, web_service.url, java_script_enabled=False) as visitor:
        yield visitor


@pytest.mark.parametrize(
    "path",
    ["/mint", "/offer", "/wallet", "/door", "/till", "/claim", "/claim/{shed}#+95.b"],
)
def test_without_scripts_a_page_says_what_it_needs(reader, ids, path):
    page = reader.go(path.format(**ids))

    expect(page.locator("noscript .notice")).to_be_visible()
    expect(page.locator("main button:visible, main input:visible")).to_have_count(0)


def test_the_first_tab_leads_past_the_head_which_is_no_claim(visitor):
    page = visitor.go("/claim")
    page.locator("main[data-ready]").wait_for()

    page.keyboard.press("Tab")
    expect_text(page, ":focus", "Skip to the content")
    page.keyboard.press("Enter")
    page.wait_for_url("**/claim#main")
    page.keyboard.press("Tab")

    expect(page.locator("main :focus")).to_be_visible()
    expect(page.locator("#paste-error")).to_be_hidden()


def test_a_broken_picture_shows_the_pattern_as_no_picture_does(visitor):
    page = visitor.page
    held = hold_back(page, "https://pictures.example/**")
    metadata = {"image": "https://pictures.example/a"}
    item_id = visitor.api.mint("+1.a", metadata=metadata)
    # By then the scripts have run.
    page.goto(f"{visitor.origin}/item/{item_id}", wait_until="domcontentloaded")

    first_held(page, held).abort()

    expect(page.locator(".deed-image")).to_be_hidden()
    expect(page.locator(".deed-frame svg")).to_be_visible()


@pytest.mark.parametrize(
    ("width", "height", "ratio"), [(1910, 1000, 1.91), (90, 2000, 0.8), (2000, 9, 2.5)]
)
def test_the_frame_of_an_uploaded_picture_takes_its_ratio_within_bounds(
    visitor, width, height, ratio
):
    item_id = visitor.api.mint("+1.a", metadata={"image": svg(width, height)})

    page = visitor.go(f"/item/{item_id}")

    box = page.locator(".deed-frame").bounding_box()
    assert box["width"] / box["height"] == pytest.approx(ratio, abs=0.01)
    assert page.locator(".deed-image").bounding_box() == box
    visitor.assert_still()


def test_a_picture_that_comes_late_fills_its_frame_and_nothing_moves(visitor):
    page = visitor.page
    late = hold_back(page, "https://pictures.example/**")
    image = "https://pictures.example/a"
    item_id = visitor.api.mint("+1.a", metadata={"image": image})
    with page.expect_request("https://pictures.example/**"):
        page.goto(f"{visitor.origin}/item/{item_id}", wait_until="commit")

    uri = svg(400, 700)
    body = base64.b64decode(uri.partition(",")[2])
    first_held(page, late).fulfill(body=body, content_type="image/svg+xml")

    wait_for_true(page, "document.querySelector('.deed-image').naturalWidth === 400")
    visitor.assert_still()
    assert "referer" not in late[0].request.headers
    room = page.locator(".deed-frame").bounding_box()
    own = page.locator(".deed-image").bounding_box()
    assert room["width"] / room["height"] == pytest.approx(8 / 5, abs=0.01)
    # It reaches beyond it, so that a photograph leaves no bars.
    for side, length in (("x", "width"), ("y", "height")):
        assert own[side] <= room[side]
        assert own[side] + own[length] >= room[side] + room[length]
