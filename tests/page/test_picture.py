"""GET /item/{id}/picture and the pictures that messengers show of a deed."""

import base64
import struct

import pytest

from deeds.page.picture import PICTURE_BYTES_MAX, Picture, uploaded_picture
from deeds.page.static_files import read_static_files
from tests.page.test_item_page import ID, mint_with, previewed, read
from tests.support.hostile_metadata import ACCEPTED_IMAGES, IMAGES

PICTURES = {
    "png": b"\x89PNG\r\n\x1a\nx",
    "jpeg": b"\xff\xd8\xff\xe0x",
    "gif": b"GIF89ax",
    "webp": b"RIFF\n\0\0\0WEBPx",
}
ORIGIN = "http://localhost"


def data_uri(kind, content):
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


@pytest.mark.parametrize(("kind", "content"), PICTURES.items())
def test_an_uploaded_picture_is_served_for_good_and_can_do_nothing(
    client, kind, content
):
    item_id = mint_with(client, {"image": data_uri(kind, content)})

    answer = client.get(f"/item/{item_id}/picture")

    assert (answer.status_code, answer.data) == (200, content)
    assert (
        dict(answer.headers).items()
        >= {
            "Content-Type": f"image/{kind}",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "default-src 'none'; sandbox",
            "Content-Disposition": f'inline; filename="picture.{kind}"',
            "Cross-Origin-Resource-Policy": "cross-origin",
            "Cache-Control": "public, max-age=31536000, immutable",
        }.items()
    )
    tag = {"If-None-Match": answer.headers["ETag"]}
    assert client.get(f"/item/{item_id}/picture", headers=tag).status_code == 304


def test_a_picture_may_have_48_kib_and_its_type_any_case():
    most = PICTURES["png"].ljust(PICTURE_BYTES_MAX, b"x")

    assert uploaded_picture(data_uri("png", most)) == Picture("png", most)
    assert uploaded_picture(data_uri("png", most + b"x")) is None
    assert uploaded_picture("DATA:image/PNG;BASE64,iVBORw0KGgo=") == Picture(
        "png", most[:8]
    )


@pytest.mark.parametrize(
    "image",
    [
        *IMAGES.values(),
        *ACCEPTED_IMAGES.values(),
        "",
        "https://example.net/shed.png",
        data_uri("png", PICTURES["gif"]),
        data_uri("svg+xml", PICTURES["png"]),
        data_uri("jpeg", b"<script>alert(1)</script>"),
        "data:image/png;base64,iVBORw0KGgp",
        "data:image/png;base64,iVBORw0KGgo=\n",
        "data:image/png,iVBORw0KGgo=",
        "data:image/png;a=b;base64,iVBORw0KGgo=",
    ],
)
def test_nothing_else_is_a_picture(image):
    assert uploaded_picture(image) is None


def test_what_has_no_uploaded_picture_is_not_found_and_nobody_is_sent_elsewhere(client):
    for item_id in (mint_with(client, {"image": "https://example.net/a.png"}), ID):
        answer = client.get(f"/item/{item_id}/picture")
        assert (answer.status_code, answer.headers["Cache-Control"]) == (
            404,
            "no-store",
        )
        assert "Location" not in answer.headers


@pytest.mark.parametrize("path", ["/item", "/claim"])
def test_previews_show_the_uploaded_picture_or_one_of_ours(client, path):
    uploaded = mint_with(client, {"image": data_uri("png", PICTURES["png"])})
    drawn = mint_with(client, {"image": data_uri("svg+xml", b"<svg/>")})
    ours = ORIGIN + read_static_files().url("preview.png")

    of_uploaded = dict(previewed(read(client, uploaded, path)))
    of_drawn = dict(previewed(read(client, drawn, path)))

    assert of_uploaded["og:image"] == f"{ORIGIN}/item/{uploaded}/picture"
    assert "og:image:width" not in of_uploaded
    for name in ("og:image", "twitter:image"):
        assert of_drawn[name] == ours
    size = of_drawn["og:image:width"], of_drawn["og:image:height"]
    assert size == ("1200", "630")
    content = client.get(ours).data
    assert struct.unpack(">II", content[16:24]) == (1200, 630)
    assert len(content) < 20_000
