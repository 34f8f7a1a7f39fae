"""GET /item/{id}/picture and the pictures that messengers show of a deed."""

import base64

import pytest

from parts.pages.picture import PICTURE_BYTES_MAX, uploaded_picture
from parts.pages.static_files import read_static_files
from tests.page.hostile_metadata import ACCEPTED_IMAGES, IMAGES
from tests.page.html import preview, read_page
from tests.page.test_item_page import ID

PICTURES = {
    "png": b"\x89PNG\r\n\x1a\nx",
    "jpeg": b"\xff\xd8\xff\xe0x",
    "gif": b"GIF89ax",
    "webp": b"RIFF\n\0\0\0WEBPx",
}
ORIGIN = "http://localhost"


def data_uri(kind, content):
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def test_an_uploaded_picture_is_served_for_good_and_can_do_nothing(api):
    content = PICTURES["webp"]
    item_id = api.mint("+1.a", metadata={"image": data_uri("webp", content)})

    answer = api.get(f"/item/{item_id}/picture")

    assert answer.status_code == 200
    assert answer.content == content
    assert (
        dict(answer.headers).items()
        >= {
            "content-type": "image/webp",
            "x-content-type-options": "nosniff",
            "content-security-policy": "default-src 'none'; sandbox",
            "content-disposition": 'inline; filename="picture.webp"',
            "cross-origin-resource-policy": "cross-origin",
            "cache-control": "public, max-age=31536000, immutable",
        }.items()
    )
    tag = {"If-None-Match": answer.headers["ETag"]}
    assert api.get(f"/item/{item_id}/picture", **tag).status_code == 304


@pytest.mark.parametrize("kind", PICTURES)
def test_a_picture_may_have_48_kib_and_its_type_any_case(kind):
    most = PICTURES[kind].ljust(PICTURE_BYTES_MAX, b"x")

    assert uploaded_picture(data_uri(kind, most)) == (kind, most)
    assert uploaded_picture(data_uri(kind, most + b"x")) is None
    assert uploaded_picture(data_uri(kind.upper(), most)) == (kind, most)


@pytest.mark.parametrize(
    "image",
    [
        *IMAGES.values(),
        *ACCEPTED_IMAGES.values(),
        "https://example.net/shed.png",
        data_uri("png", PICTURES["gif"]),
        data_uri("svg+xml", PICTURES["png"]),
        "data:image/png;base64,iVBORw0KGgp",
        "data:image/png;base64,iVBORw0KGgo=\n",
        "data:image/png;a=b;base64,iVBORw0KGgo=",
    ],
)
def test_nothing_else_is_a_picture(image):
    assert uploaded_picture(image) is None


@pytest.mark.parametrize("metadata", [None, {"image": "https://example.net/a.png"}])
def test_a_deed_without_an_uploaded_picture_has_none_to_serve(api, metadata):
    item_id = api.mint("+1.a", metadata=metadata)

    answer = api.get(f"/item/{item_id}/picture")

    assert answer.status_code == 404
    assert "Location" not in answer.headers
    assert api.get(f"/item/{ID}/picture").status_code == 404


def preview_of(api, path, image):
    """Mint a deed with an image; return its id, and its preview under the path."""
    item_id = api.mint("+1.a", metadata={"image": image})
    return item_id, preview(read_page(api.get(f"{path}/{item_id}")))


@pytest.mark.parametrize(("path", "kind"), [("/item", "png"), ("/claim", "jpeg")])
def test_a_preview_shows_the_uploaded_picture(api, path, kind):
    item_id, shown = preview_of(api, path, data_uri(kind, PICTURES[kind]))

    assert shown["og:image"] == f"{ORIGIN}/item/{item_id}/picture"
    assert "og:image:width" not in shown


# Few apps show one of these where they preview a link.
@pytest.mark.parametrize(
    "image",
    [data_uri("gif", PICTURES["gif"]), "https://example.net/a.webp?size=2"],
)
def test_a_preview_without_a_jpeg_or_png_shows_one_of_ours(api, image):
    _, shown = preview_of(api, "/item", image)

    ours = ORIGIN + read_static_files().url("preview.png")
    assert shown["og:image"] == shown["twitter:image"] == ours
    assert (shown["og:image:width"], shown["og:image:height"]) == ("1200", "630")
    assert api.get(ours).status_code == 200
