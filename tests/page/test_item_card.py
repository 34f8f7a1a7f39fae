"""The card of a deed as a browser draws it: its picture, the drawing in its place, and no harm."""

import base64

import pytest

from tests.page.samples import mint_deed
from tests.support.hostile_metadata import ACCEPTED_IMAGES, TEXTS
from tests.support.waiting import wait_until

DRAWN = {"name": "A ticket"}
# What a person sees as one colour, if nothing shines through.
GROUND = "#f0eee8"


def svg(width, height, content=""):
    """Return a data: URI of a picture of this size."""
    size = f'width="{width}" height="{height}"'
    text = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{content}</svg>'
    return f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}"


def frame(visitor, metadata):
    """Return the picture that a browser draws of the frame of a deed's image."""
    page = visitor.go(f"/item/{mint_deed(visitor.origin, metadata)}")
    box = page.locator(".deed-frame").bounding_box()
    # Not its rounded corners, which no two pictures have alike.
    inner = {"x": box["x"] + 20, "y": box["y"] + 20}
    size = {"width": box["width"] - 40, "height": box["height"] - 40}
    return page.screenshot(clip=inner | size, animations="disabled")


@pytest.fixture(params=[True, False], ids=["scripts", "no-scripts"])
def reader(request, visit):
    """A person with scripts, and one without."""
    return visit(java_script_enabled=request.param, viewport={"width": 360, "height": 740})


@pytest.mark.parametrize("image", ["{origin}/nothing.png", "{origin}/v1/info", "data:image/png,x"])
def test_a_broken_picture_shows_the_drawing_as_no_picture_does(reader, image):
    drawing = frame(reader, DRAWN)

    broken = frame(reader, DRAWN | {"image": image.format(origin=reader.origin)})

    assert broken == drawing


def test_a_picture_covers_the_drawing_where_it_is_transparent(reader):
    opaque = frame(
        reader, {"image": svg(500, 400, f'<rect width="500" height="400" fill="{GROUND}"/>')}
    )

    transparent = frame(reader, {"image": svg(500, 400)})

    assert transparent == opaque
    assert transparent != frame(reader, DRAWN)


@pytest.mark.parametrize(
    ("width", "height"),
    [(1910, 1000), (1080, 1080), (800, 1000), (320, 256), (90, 2000), (2000, 9)],
)
def test_a_picture_is_shown_whole_and_in_its_own_ratio(visitor, width, height):
    page = visitor.go(f"/item/{mint_deed(visitor.origin, {'image': svg(width, height)})}")

    picture, box = page.locator(".deed-image"), page.locator(".deed-frame").bounding_box()
    inner = picture.bounding_box()
    assert picture.evaluate("each => getComputedStyle(each).objectFit") == "contain"
    assert inner["x"] == box["x"]
    assert inner["y"] >= box["y"] - 0.1
    assert inner["width"] == box["width"]
    assert inner["height"] <= box["height"] + 0.1
    assert inner["height"] == pytest.approx(
        min(box["width"] * height / width, box["height"]), abs=1
    )
    assert box["width"] / box["height"] == pytest.approx(5 / 4, abs=0.01)


def test_nothing_moves_when_a_picture_comes_late(visitor):
    late = []

    def hold(route):
        late.append(route)

    visitor.page.route("https://pictures.example/**", hold)
    item_id = mint_deed(visitor.origin, {"image": "https://pictures.example/a.svg"})
    visitor.page.goto(f"{visitor.origin}/item/{item_id}")
    wait_until(lambda: visitor.page.evaluate("1") and late)

    body = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="700"><rect width="9"/></svg>'
    )
    late[0].fulfill(body=body, content_type="image/svg+xml")
    wait_until(
        lambda: visitor.page.evaluate("document.querySelector('.deed-image').naturalWidth === 400")
    )

    assert visitor.is_still()
    assert visitor.foreign_requests() == ["https://pictures.example/a.svg"]
    assert "referer" not in late[0].request.headers


def test_an_item_id_is_copied(visit):
    visitor = visit(permissions=["clipboard-read", "clipboard-write"])
    item_id = mint_deed(visitor.origin, None)
    page = visitor.go(f"/item/{item_id}")

    page.get_by_role("button", name="Copy").click()

    page.get_by_text("The item id is copied.").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == item_id


def harm(visitor, path):
    """Return what went wrong at a page, if anything did."""
    page = visitor.go(path)
    return {
        "harmed": page.evaluate("window.harmed"),
        "violations": visitor.watched("violations"),
        "left": page.url.removeprefix(visitor.origin) != path,
    }


HARMLESS = {"harmed": None, "violations": [], "left": False}


def test_no_hostile_text_does_anything_in_a_browser(visitor):
    for text in TEXTS.values():
        item_id = mint_deed(visitor.origin, {"name": text, "description": text})
        assert harm(visitor, f"/item/{item_id}") == HARMLESS, text
        assert visitor.page.locator("h1").count() == 1

    assert visitor.foreign_requests() == []
    assert visitor.errors == []


def test_no_hostile_picture_does_anything_in_a_browser(visitor):
    for image in ACCEPTED_IMAGES.values():
        item_id = mint_deed(visitor.origin, {"image": image})
        assert harm(visitor, f"/item/{item_id}") == HARMLESS, image
    assert [each for each in visitor.foreign_requests() if ":9/" not in each] == []


def test_no_hostile_text_does_anything_in_the_form(visitor):
    page = visitor.go("/")

    for text in [*TEXTS.values(), *ACCEPTED_IMAGES.values()]:
        page.get_by_label("Name").fill(text)
        page.get_by_label("Description").fill(text)
        page.get_by_label("Address of a picture").fill(text)
        page.get_by_label("Address of a picture").blur()
        assert page.evaluate("window.harmed") is None, text

    assert visitor.watched("violations") == []
