"""Every page in both themes and widths: accessible, still, and with nothing from elsewhere."""

import base64

import pytest
from playwright.sync_api import expect

from tests.page.samples import PAGES, mint_deed
from tests.page.screenshots import SCREENSHOTS, THEMES, WIDTHS, fill_in, mint, take_screenshots
from tests.page.visitor import hold_back
from tests.support.waiting import wait_until

VIEWS = [(theme, width) for theme in THEMES for width in WIDTHS]

# What Chromium says of the page itself when it is a 404.
MISSING = "Failed to load resource: the server responded with a status of 404 (NOT FOUND)"


@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_pages_are_accessible_and_do_nothing_that_they_should_not(visit, pages, view):
    theme, width = view
    visitor = visit(color_scheme=theme, viewport={"width": width, "height": 740})

    for name in PAGES:
        page = visitor.go(pages[name])
        visitor.rest()
        if name == "item-unknown":
            assert visitor.errors == [MISSING]
            visitor.errors.clear()
        assert visitor.is_still(), name
        visitor.assert_good()
        assert page.evaluate("inBrowser.smallControls()") == [], name
    fill_in(visitor.go("/"))
    visitor.assert_good()
    mint(page)
    visitor.assert_good()


@pytest.mark.parametrize("path", ["/", "/claim", "/wallet"])
def test_without_scripts_a_page_says_what_it_needs_and_offers_nothing_that_fails(visit, path):
    page = visit(java_script_enabled=False).go(path)

    expect(page.locator("noscript .notice")).to_be_visible()
    expect(page.locator("main button:visible, main input:visible")).to_have_count(0)


def test_the_first_tab_leads_past_the_head_of_a_page(visitor):
    page = visitor.go("/")

    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")

    expect(page.get_by_label("Name")).to_be_focused()


def frame(visitor, metadata):
    """Return the picture that a browser draws of the frame of a deed's image."""
    page = visitor.go(f"/item/{mint_deed(visitor.origin, metadata)}")
    box = page.locator(".deed-frame").bounding_box()
    # Not its rounded corners, which no two pictures have alike.
    inner = {"x": box["x"] + 20, "y": box["y"] + 20}
    size = {"width": box["width"] - 40, "height": box["height"] - 40}
    return page.screenshot(clip=inner | size, animations="disabled")


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_broken_picture_shows_the_drawing_as_no_picture_does(visit, has_scripts):
    visitor = visit(java_script_enabled=has_scripts, viewport={"width": 360, "height": 740})
    drawing = frame(visitor, {"name": "A ticket"})

    for image in [f"{visitor.origin}/nothing.png", f"{visitor.origin}/v1/info", "data:image/png,x"]:
        assert frame(visitor, {"name": "A ticket", "image": image}) == drawing, image


def svg(width, height, content=""):
    """Return a data: URI of a picture of this size."""
    size = f'width="{width}" height="{height}"'
    text = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{content}</svg>'
    return f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}"


def test_a_picture_covers_the_drawing_where_it_is_transparent(visitor):
    ground = '<rect width="500" height="400" fill="#f0eee8"/>'
    opaque = frame(visitor, {"image": svg(500, 400, ground)})

    assert frame(visitor, {"image": svg(500, 400)}) == opaque
    assert frame(visitor, {"name": "A ticket"}) != opaque


@pytest.mark.parametrize(("width", "height"), [(1910, 1000), (800, 1000), (90, 2000), (2000, 9)])
def test_a_picture_is_shown_whole_and_in_its_own_ratio(visitor, width, height):
    page = visitor.go(f"/item/{mint_deed(visitor.origin, {'image': svg(width, height)})}")

    picture, box = page.locator(".deed-image"), page.locator(".deed-frame").bounding_box()
    inner = picture.bounding_box()
    assert picture.evaluate("each => getComputedStyle(each).objectFit") == "contain"
    assert (inner["x"], inner["width"]) == (box["x"], box["width"])
    assert inner["y"] >= box["y"] - 0.1
    expected = min(box["width"] * height / width, box["height"])
    assert inner["height"] == pytest.approx(expected, abs=1)
    assert box["width"] / box["height"] == pytest.approx(5 / 4, abs=0.01)


def test_nothing_moves_when_a_picture_comes_late(visitor):
    late = hold_back(visitor.page, "https://pictures.example/**")
    item_id = mint_deed(visitor.origin, {"image": "https://pictures.example/a.svg"})
    visitor.page.goto(f"{visitor.origin}/item/{item_id}")
    wait_until(lambda: visitor.page.evaluate("1") and late)

    body = "<svg xmlns='http://www.w3.org/2000/svg' width='400' height='700'/>"
    late[0].fulfill(body=body, content_type="image/svg+xml")
    wait_until(
        lambda: visitor.page.evaluate("document.querySelector('.deed-image').naturalWidth === 400")
    )

    assert visitor.is_still()
    assert "referer" not in late[0].request.headers


def test_an_item_id_is_copied(visit):
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    item_id = mint_deed(visitor.origin, None)
    page = visitor.go(f"/item/{item_id}")

    page.get_by_role("button", name="Copy").click()

    page.get_by_text("The item id is copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == item_id


def test_pictures_of_all_pages_are_taken(browser, web_service, pages, tmp_path_factory, request):
    directory = tmp_path_factory.mktemp("screenshots")

    taken = take_screenshots(browser, web_service.url, pages, directory)

    request.config.stash[SCREENSHOTS] = f"{len(taken)} pictures of the page: {directory}"
    assert sorted(directory.iterdir()) == sorted(taken)
    assert len(taken) == 4 * (len(pages) + 4)
    for path in taken:
        assert path.read_bytes().startswith(b"\x89PNG"), path
