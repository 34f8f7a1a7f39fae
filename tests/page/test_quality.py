"""The pages in both themes and widths.

Accessible, still, and with nothing from elsewhere.
"""

import pytest
from playwright.sync_api import expect

from tests.page import steps
from tests.page.steps import svg
from tests.page.visitor import hold_back
from tests.support.waiting import wait_until


# No rule of the style sheet asks for both theme and width.
@pytest.fixture(params=[("light", 360), ("dark", 1280)], ids=["light-360", "dark-1280"])
def viewer(visitor, request):
    """A person at a phone or at a desk, each with a theme."""
    theme, width = request.param
    visitor.page.emulate_media(color_scheme=theme)
    visitor.page.set_viewport_size({"width": width, "height": 800})
    return visitor


def test_pages_are_accessible_and_do_nothing_that_they_should_not(viewer):
    shed = steps.mint_deed(viewer.origin, steps.SHED, "+5.a", "+95.b")
    ticket = steps.mint_deed(viewer.origin, steps.TICKET)
    offer = steps.make_offer(viewer.origin, f"+1.{ticket}", inputs=[f"+5.{shed}.a"])
    # Each page, and what is there once it is ready.
    pages = {
        "/": "h1",
        "/mint": "#review-button:enabled",
        "/claim": "[data-ready]",
        f"/claim#+5.{shed}.a": "[data-state=free]",
        f"/offer/{offer}": "[data-kind=open]",
        "/wallet": "[data-ready]",
        # Where only what stands behind "#" changes, it loads itself again: that one
        # first.
        f"/door#{ticket}": "[data-ready]",
        "/door": "[data-ready]",
        f"/item/{shed}": "h1",
        f"/item/{ticket}": "h1",
        "/problems": "h1",
        "/item/deed_nobody": "h1",
    }

    for path, ready in pages.items():
        page = viewer.go(path)
        page.locator(ready).first.wait_for()
        if path == "/item/deed_nobody":
            # What Chromium says of the page itself.
            assert "404 (NOT FOUND)" in viewer.errors.pop()
        viewer.assert_still()
        viewer.assert_good()
        assert page.evaluate("inBrowser.smallControls()") == [], path


MOVING = """[...document.querySelectorAll("*")].filter((each) =>
  parseFloat(getComputedStyle(each).transitionDuration) > 0
).map((each) => each.outerHTML)"""
OVERHANGING = """() => [...document.querySelectorAll("body *")].filter((each) => {
  const { left, right } = each.getBoundingClientRect();
  const isWide = document.documentElement.scrollWidth > innerWidth;
  return isWide && (left < 0 || right > innerWidth);
}).map((each) => each.outerHTML.slice(0, 80))"""


def test_pages_fit_at_twice_the_size_and_from_right_to_left_and_nothing_moves(visitor):
    raw, *_ = steps.mint_outputs(visitor.origin, "s")
    item_id = raw.split(".")[1]
    steps.hold(visitor, 3, 4, metadata=steps.SHED)

    offer = f"/offer/{steps.make_offer(visitor.origin, f'+5.{item_id}')}"
    pages = [
        "/",
        "/mint",
        "/claim",
        f"/claim#{raw}",
        "/wallet",
        "/door",
        f"/item/{item_id}",
        offer,
    ]
    for path in [*pages, "/problems", "/docs"]:
        page = visitor.go(path)
        for direction in ["ltr", "rtl"]:
            page.evaluate("to => { document.documentElement.dir = to; }", direction)
            # A window of half the width is what 200 % zoom makes of one.
            page.set_viewport_size({"width": 195, "height": 422})
            assert page.evaluate(OVERHANGING) == [], (path, direction)
        if path != "/docs":
            assert page.evaluate(MOVING) == [], path
        page.set_viewport_size({"width": 360, "height": 740})


def test_a_page_says_what_it_is_while_its_scripts_are_on_their_way(visit):
    """As on a slow line; nothing of it waits for a script."""
    visitor = visit()
    [raw] = steps.mint_outputs(visitor.origin, "secret")
    for path in ["/mint", "/claim", "/offer/offer_x", "/wallet", steps.link("", raw)]:
        page = visitor.context.new_page()
        held = hold_back(page, "**/*.js")
        page.goto(visitor.origin + path, wait_until="commit")
        expect(page.locator("h1").first).to_be_visible()
        expect(page.locator(".lead p").first).to_be_visible()
        expect(page.locator("form:visible, .loading:visible")).not_to_have_count(0)
        assert held
    # The last one is that of a deed, which stays where it is when they come.
    expect(page.get_by_text(steps.SHED["name"])).to_be_visible()
    for route in held:
        route.continue_()
    page.unroute("**/*.js")
    steps.wait_for_rows(page, "free")
    visitor.page = page
    visitor.assert_still()


def test_minting_is_accessible(viewer):
    page = viewer.go("/mint")
    page.get_by_label("Name").fill("Ticket for the summer concert")
    page.get_by_label("Description").fill("One seat, on the lawn. Bring a blanket.")
    page.get_by_text("Different amounts").click()
    page.get_by_label("Amount", exact=True).fill("40")
    page.get_by_role("button", name="Add a link").click()
    page.get_by_label("Choose the secret myself").last.check()
    page.get_by_label("Secret", exact=True).last.fill("lawn party")
    viewer.assert_good()

    page.get_by_role("button", name="Review").click()
    create = page.get_by_role("button", name="Create", exact=True)
    expect(create).to_be_enabled()
    viewer.assert_good()
    create.click()
    page.get_by_role("button", name="Create another").wait_for()

    viewer.assert_good()


def test_claiming_is_accessible_and_still(viewer):
    one, gone, two = steps.mint_outputs(viewer.origin, "one", "gone", "two")
    steps.spend(viewer.origin, gone)

    page = viewer.go(f"/claim#{one}")
    steps.wait_for_rows(page, "free")
    page.evaluate(
        "addEventListener('click', () => { window.topsAtTap = inBrowser.tops(); })"
    )
    steps.take(page)
    steps.wait_for_rows(page, "taken")
    page.get_by_role("link", name="Show in My deeds").wait_for()
    # What is drawn in the task of the tap holds, however late the answer comes.
    assert page.evaluate("inBrowser.tops()") == page.evaluate("topsAtTap")
    viewer.assert_good()
    page.get_by_role("button", name="Add another").click()
    steps.paste(page, f"{gone}\n{two}")
    steps.wait_for_rows(page, "spent", "free")
    viewer.assert_good()
    viewer.assert_still()


def test_a_wallet_and_its_dialogs_are_accessible_and_still(viewer):
    page, _ = steps.hold(viewer, 4, 6, metadata=steps.SHED)
    steps.send(page, "x")
    dialog = steps.send(page, "3")
    expect(dialog.locator(".qr img")).to_be_visible()
    viewer.assert_good()
    dialog.get_by_role("button", name="Done").click()

    page.reload()
    page.locator("main[data-ready]").wait_for()
    viewer.assert_still()
    steps.open_parts(page)
    viewer.assert_good()
    for name in ["Split", "Merge", "Ask for", "Trade"]:
        page.get_by_role("button", name=name).click()
        viewer.assert_good()
        page.keyboard.press("Escape")
    page.get_by_role("link", name="All deeds").click()
    page.locator("[data-row]").wait_for()
    viewer.assert_good()
    for name in ["Back up", "Restore"]:
        page.get_by_role("button", name=name).click()
        viewer.assert_good()
        page.keyboard.press("Escape")
    page.get_by_role("link", name="History").click()
    page.locator("#history > li").first.wait_for()
    viewer.assert_good()
    assert page.evaluate("inBrowser.smallControls()") == []


COLORS = (
    "(({ backgroundColor, color }) => backgroundColor + color)"
    "(getComputedStyle(document.body))"
)


def test_without_scripts_a_page_says_what_it_needs_and_offers_nothing_that_fails(visit):
    visitor = visit(java_script_enabled=False)
    [raw] = steps.mint_outputs(visitor.origin, "secret")

    for path in ["/mint", "/offer", "/wallet", "/door", "/claim", steps.link("", raw)]:
        page = visitor.go(path)
        expect(page.locator("noscript .notice")).to_be_visible()
        expect(page.locator("main button:visible, main input:visible")).to_have_count(0)
    expect(page.get_by_text(steps.SHED["name"])).to_be_visible()
    visitor.page.emulate_media(color_scheme="dark")
    looks = {visitor.go(path).evaluate(COLORS) for path in ["/problems", "/docs"]}
    assert len(looks) == 1


def test_the_first_tab_leads_past_the_head_of_a_page(visitor):
    page = visitor.go("/mint")

    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")

    expect(page.get_by_label("Name")).to_be_focused()
    # Where a link is a claim, but not this one.
    visitor.go("/claim")
    page.locator("main[data-ready]").wait_for()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/claim#main")
    expect(page.locator("#paste-error")).to_be_hidden()


def frame(visitor, metadata):
    """Return the picture that a browser draws of the frame of a deed's image."""
    page = visitor.go(f"/item/{steps.mint_deed(visitor.origin, metadata)}")
    box = page.locator(".deed-frame").bounding_box()
    # Not its rounded corners, which no two pictures have alike.
    inner = {"x": box["x"] + 20, "y": box["y"] + 20}
    size = {"width": box["width"] - 40, "height": box["height"] - 40}
    return page.screenshot(clip=inner | size, animations="disabled")


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_broken_picture_shows_the_drawing_as_no_picture_does(visit, has_scripts):
    visitor = visit(
        java_script_enabled=has_scripts, viewport={"width": 360, "height": 740}
    )
    drawing = frame(visitor, steps.TICKET)

    for image in [
        f"{visitor.origin}/nothing.png",
        f"{visitor.origin}/v1/info",
        "data:image/png,x",
    ]:
        assert frame(visitor, steps.TICKET | {"image": image}) == drawing, image


def test_a_picture_covers_the_drawing_where_it_is_transparent(visitor):
    ground = '<rect width="500" height="400" fill="#eeeeeb"/>'
    opaque = frame(visitor, {"image": svg(500, 400, ground)})

    assert frame(visitor, {"image": svg(500, 400)}) == opaque
    assert frame(visitor, steps.TICKET) != opaque


@pytest.mark.parametrize(
    ("width", "height"), [(1910, 1000), (800, 1000), (90, 2000), (2000, 9)]
)
def test_a_picture_is_shown_whole_and_in_its_own_ratio(visitor, width, height):
    page = visitor.go(
        f"/item/{steps.mint_deed(visitor.origin, {'image': svg(width, height)})}"
    )

    picture, box = (
        page.locator(".deed-image"),
        page.locator(".deed-frame").bounding_box(),
    )
    inner = picture.bounding_box()
    assert picture.evaluate("each => getComputedStyle(each).objectFit") == "contain"
    assert (inner["x"], inner["width"]) == (box["x"], box["width"])
    assert inner["y"] >= box["y"] - 0.1
    expected = min(box["width"] * height / width, box["height"])
    assert inner["height"] == pytest.approx(expected, abs=1)
    assert box["width"] / box["height"] == pytest.approx(5 / 4, abs=0.01)


def test_nothing_moves_when_a_picture_comes_late(visitor):
    late = hold_back(visitor.page, "https://pictures.example/**")
    item_id = steps.mint_deed(
        visitor.origin, {"image": "https://pictures.example/a.svg"}
    )
    visitor.page.goto(f"{visitor.origin}/item/{item_id}")
    wait_until(lambda: visitor.page.evaluate("1") and late)

    body = "<svg xmlns='http://www.w3.org/2000/svg' width='400' height='700'/>"
    late[0].fulfill(body=body, content_type="image/svg+xml")
    came = "document.querySelector('.deed-image').naturalWidth === 400"
    wait_until(lambda: visitor.page.evaluate(came))

    visitor.assert_still()
    assert "referer" not in late[0].request.headers


MARK = (
    "id => inBrowser.load('ui/card.js').then(({ makeMark }) => makeMark(id).innerHTML)"
)


def test_an_item_id_is_copied_and_scripts_draw_the_mark_of_a_deed_as_its_page_does(
    visitor,
):
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    item_id = steps.mint_deed(visitor.origin, None)

    page = visitor.go(f"/item/{item_id}")
    page.get_by_role("button", name="Copy").click()
    page.get_by_text("The item id is copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == item_id

    mark = page.locator(".deed .mark")
    expect(mark).to_contain_text(f"{item_id[5:9]}·{item_id[-4:]}")
    assert mark.inner_html() == page.evaluate(MARK, item_id)
