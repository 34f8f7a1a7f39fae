"""The metadata of a mint and what the registry makes of it (contract 2.3, 2.4 and part 2)."""

import json

import pytest

from tests.support.requests import post, refusal

# 300 kB: a picture in a data URI is large, and the pattern must not mind.
LARGE_PICTURE = "data:image/png;base64," + "iVBORw0KGgo" * 30_000


def read_metadata(client, metadata):
    """Mint an item with the metadata and return what the registry has of it."""
    answer = post(client, "/v1/mint", {"outputs": ["+1.a"], "metadata": metadata})
    assert answer.status_code == 200, answer.text
    return client.get(f"/v1/item/{answer.get_json()['itemId']}").get_json()["metadata"]


def test_a_text_may_hold_any_number_of_signs_that_part_values(client):
    """Values are counted before they are parsed, those signs within strings are not."""
    text = '\\"{},[],"' * 60_000

    assert json.loads(read_metadata(client, {"name": text})) == {"name": text}


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        (None, None),
        ({}, "{}"),
        ({"name": ""}, '{"name":""}'),
        ({"name": "A"}, '{"name":"A"}'),
        (
            {"image": "https://a.example/b.png", "description": "D", "name": "N"},
            '{"name":"N","description":"D","image":"https://a.example/b.png"}',
        ),
        ({"image": "ar:x", "name": "N"}, '{"name":"N","image":"ar:x"}'),
        ({"description": "  two  spaces  "}, '{"description":"  two  spaces  "}'),
        ({"name": "Grüße 東京 🏡 e\u0301"}, '{"name":"Grüße 東京 🏡 e\u0301"}'),
        ({"name": '"\\\n\t\0\x7f\u2028'}, '{"name":"\\"\\\\\\n\\t\\u0000\x7f\u2028"}'),
        ({"name": "<script>alert(1)</script>"}, '{"name":"<script>alert(1)</script>"}'),
        ({"description": "é" * 100_000}, '{"description":"' + "é" * 100_000 + '"}'),
    ],
)
def test_metadata_is_kept_as_compact_json_in_one_order(client, metadata, text):
    assert read_metadata(client, metadata) == text


def test_a_mint_without_metadata_has_none(client):
    item_id = post(client, "/v1/mint", {"outputs": ["+1.a"]}).get_json()["itemId"]

    assert client.get(f"/v1/item/{item_id}").get_json()["metadata"] is None


@pytest.mark.parametrize("metadata", ["text", "{}", [], 5, True, [{"name": "x"}]])
def test_metadata_that_is_no_object_is_refused(client, ledger, metadata):
    answer = post(client, "/v1/mint", {"outputs": ["+1.a"], "metadata": metadata})

    assert refusal(answer) == (400, "invalid_request", None)
    assert ledger.operations() == []


@pytest.mark.parametrize("field", ["name", "description", "image"])
@pytest.mark.parametrize("value", [None, 5, True, ["x"], {"x": "y"}, "\ud800", "x\udfff"])
def test_a_metadata_field_that_is_no_text_is_refused(client, ledger, field, value):
    answer = post(client, "/v1/mint", {"outputs": ["+1.a"], "metadata": {field: value}})

    assert refusal(answer) == (400, "invalid_request", None)
    assert answer.get_json()["detail"].startswith(f"metadata.{field}: ")
    assert ledger.operations() == []


@pytest.mark.parametrize(
    "image",
    [
        "http://a.example",
        "https://a.example/",
        "https://a.example/b/c.png?width=320&x=a/b?c",
        "https://user:word@a.example:8443/b.png",
        "https://a.example:/b.png",
        "HTTPS://A.EXAMPLE/B.PNG",
        "https://[2001:db8::1]:443/b.png",
        "https://192.0.2.1/b.png",
        "https://xn--bcher-kva.example/%C3%A9.png",
        "https://a.example/b,(c);d='e'!*$~_-.@:.png",
        "https://a.example//b//c",
        "https://a.example/a%20b.png",
        "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
        "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/1.png",
        "ar://cG9ydHJhaXQ",
        "ar:cG9ydHJhaXQ",
        "data:image/png;base64,iVBORw0KGgo=",
        "data:image/svg+xml;charset=utf-8,%3Csvg%2F%3E",
        "data:image/vnd.microsoft.icon,x",
        "DATA:IMAGE/GIF;BASE64,R0lGODlhAQABAAAAACw=",
        "data:image/png,",
        LARGE_PICTURE,
    ],
)
def test_an_image_may_be_an_absolute_uri_that_a_page_can_show(client, image):
    assert read_metadata(client, {"image": image}) == f'{{"image":"{image}"}}'


@pytest.mark.parametrize(
    "image",
    [
        "",
        " ",
        "a.png",
        "/a.png",
        "//a.example/b.png",
        "?a",
        "#a",
        "https:",
        "https:a.png",
        "https:/a.example/b.png",
        "https://",
        "https:///b.png",
        "https://:443/b.png",
        "https://?a",
        "https://a.example/b.png#fragment",
        "https://a.example:port/b.png",
        "https://[::1/b.png",
        "https://a.example/b c.png",
        " https://a.example/b.png",
        "https://a.example/b.png ",
        "https://a.example/b.png\n",
        "\nhttps://a.example/b.png",
        "https://a.example/b\t.png",
        "https://a.example/\0",
        'https://a.example/"onerror="alert(1)',
        "https://a.example/<script>",
        "https://a.example/\\b.png",
        "https://a.example\\@b.example/",
        "https://a.example/{b}",
        "https://a.example/^`|",
        "https://a.example/%",
        "https://a.example/%zz",
        "https://a.example/%e",
        "https://bücher.example/b.png",
        "https://a.example/é.png",
        "https://a.example@b@c/",
        "ipfs:",
        "ipfs://",
        "ar:",
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java\nscript:alert(1)",
        "\x01javascript:alert(1)",
        "vbscript:msgbox(1)",
        "file:///etc/passwd",
        "ftp://a.example/b.png",
        "blob:https://a.example/1",
        "about:blank",
        "httpsx://a.example/b.png",
        "view-source:https://a.example/",
        "data:",
        "data:,x",
        "data:;base64,x",
        "data:text/html,<script>alert(1)</script>",
        "data:text/html;base64,PHNjcmlwdD4=",
        "data:text/html;image/png,x",
        "data:text/html,image/png",
        "data:image,x",
        "data:image/,x",
        "data:image/*,x",
        "data:image/png",
        "data:image/png;base64",
        "data:image/png;charset,x",
        "data:image/png,a b",
        "data:image/png,<svg>",
        'data:image/png;charset="x",y',
        "data:image/png,x#y",
        "data:application/image/png,x",
        "data: image/png,x",
    ],
)
def test_any_other_image_is_refused_and_nothing_is_minted(client, ledger, image):
    answer = post(client, "/v1/mint", {"outputs": ["+1.a"], "metadata": {"image": image}})

    assert refusal(answer) == (400, "invalid_request", None)
    assert answer.get_json()["detail"].startswith("metadata.image: must be an absolute URI")
    assert ledger.operations() == []
