"""What the body of each request may hold: the schemas alone, without HTTP."""

import json

import pytest

from deeds.domain.errors import InvalidRequestError
from schemas.requests import (
    CheckRequestSchema,
    MintRequestSchema,
    SwapRequestSchema,
    load,
)

SCHEMAS = {
    "mint": MintRequestSchema(array_length_max=256),
    "swap": SwapRequestSchema(array_length_max=256),
    "check": CheckRequestSchema(array_length_max=256),
}
GOOD = {
    "mint": {"outputs": ["+1.a"]},
    "swap": {"inputs": ["+5.deed_x.a"], "outputs": ["+5.deed_x.b"]},
    "check": {"outputs": ["+5.deed_x.a"]},
}
ARRAYS = [
    ("mint", "outputs"),
    ("swap", "inputs"),
    ("swap", "outputs"),
    ("check", "outputs"),
]

# What is no array of outputs, by the index of the element at fault: in all forms, in a
# mint, in the others.
NO_ARRAYS = {
    None: [[], None, "+1.a", {"0": "+1.a"}, True, ["+5.deed_x.a"] * 257],
    0: [["5.a"]],
    1: [["+5.deed_x.a", "+5.deed_x."]],
}
NO_MINT_OUTPUTS = {
    None: [["+1.a", {"amount": 1, "secret": "b"}], [["+1.a"]], ["+1.a", None]],
    0: [
        [{"amount": 1}],
        [{"secret": "a"}],
        [{"amount": 1, "secret": "a", "itemId": "deed_x"}],
        *[
            [{"amount": 1, "secret": each}]
            for each in (5, True, ["a"], "", "x" * 33, "\ud800")
        ],
    ],
    1: [[{"amount": 1, "secret": "a"}, {"amount": 1, "secret": None}]],
}
NO_RAW_OUTPUTS = {
    0: [
        [None],
        [["+5.deed_x.a"]],
        [{"amount": 5, "itemId": "deed_x", "secret": "a"}],
        ["+5.a"],
    ],
    1: [["+5.deed_x.a", 5]],
}

# As JSON, where 1.0 and 1e2 are numbers.
NO_AMOUNTS = [
    "0",
    "-0",
    "-1",
    "1.0",
    "1.5",
    "1e2",
    "1E400",
    '"5"',
    "true",
    "null",
    "[5]",
    "{}",
]
NO_AMOUNTS += [
    "9007199254740992",
    "9223372036854775808",
    "18446744073709551617",
    "1" + "0" * 400,
]

IMAGES = [
    "https://a.example/b/c.png?width=320&x=a/b?c",
    "https://user:word@a.example:8443/b.png",
]
IMAGES += [
    "https://a.example:/b.png",
    "HTTPS://A.EXAMPLE/B.PNG",
    "https://[2001:db8::1]:443/b.png",
]
IMAGES += ["https://xn--bcher-kva.example/%C3%A9.png", "https://a.example//b//c"]
IMAGES += ["https://a.example/b,(c);d='e'!*$~_-.@:.png", "ar:cG9ydHJhaXQ"]
IMAGES += [
    "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
    "data:image/png,",
]
IMAGES += [
    "data:image/svg+xml;charset=utf-8,%3Csvg%2F%3E",
    "DATA:IMAGE/GIF;BASE64,R0lGODlhAQABA=",
]
# A picture in a data URI is large, and the pattern must not mind.
IMAGES += ["data:image/png;base64," + "iVBORw0KGgo" * 30_000]

# Relative, without a host, with one that is none, of another scheme, of another kind of
# data.
NO_IMAGES = ["", "/a.png", "https:/a.example/b.png", "https:///b.png", "https://?a"]
NO_IMAGES += [
    "https://a.example:port/b.png",
    "https://[::1/b.png",
    "https://bücher.example/b.png",
]
NO_IMAGES += [
    "https://a.example@b@c/",
    "https://a.example\\@b.example/",
    " https://a.example/b",
]
NO_IMAGES += [
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    "\x01javascript:alert(1)",
    "ipfs://",
]
NO_IMAGES += ["blob:https://a.example/1", "httpsx://a.example/b.png", "ar:", "data:"]
NO_IMAGES += ["data:text/html,<script>alert(1)</script>", "data:text/html;image/png,x"]
NO_IMAGES += [
    "data:image/*,x",
    "data:image/png",
    "data:image/png;charset,x",
    "data:image/png,a b",
]
NO_IMAGES += ["data:image/png,x#y", "data: image/png,x"]

# What no path may hold.
NO_PATHS = [
    "b#fragment",
    "b c.png",
    "b.png\n",
    "\0",
    '"onerror="alert(1)',
    "<script>",
    "%",
    "%zz",
]
NO_IMAGES += [f"https://a.example/{path}" for path in NO_PATHS]


def refused(request, body):
    """Return what the refusal of the body says, and the element at fault."""
    with pytest.raises(InvalidRequestError) as caught:
        load(SCHEMAS[request], body)
    return caught.value.detail, caught.value.index


def stored_metadata(metadata):
    """Return what is stored of the metadata of a mint."""
    return load(SCHEMAS["mint"], GOOD["mint"] | {"metadata": metadata}).metadata


def test_a_body_or_metadata_that_is_no_object_is_refused():
    for value in ([], "text", "{}", 5, True, [{"name": "x"}]):
        for endpoint in SCHEMAS:
            assert refused(endpoint, value) == ("the body: must be an object", None)
        said = ("metadata: must be an object", None)
        assert refused("mint", GOOD["mint"] | {"metadata": value}) == said


@pytest.mark.parametrize(("endpoint", "field"), ARRAYS, ids="-".join)
def test_an_array_is_required_and_anything_else_is_refused_with_its_element(
    endpoint, field
):
    others = {name: value for name, value in GOOD[endpoint].items() if name != field}

    assert refused(endpoint, others) == (f"{field}: is required", None)
    for cases in (NO_ARRAYS, NO_MINT_OUTPUTS if endpoint == "mint" else NO_RAW_OUTPUTS):
        for index, values in cases.items():
            for value in values:
                detail, place = refused(endpoint, others | {field: value})
                assert (detail.startswith(field), place) == (True, index), value


@pytest.mark.parametrize("amount", NO_AMOUNTS, ids=lambda text: text[:20])
def test_an_amount_is_a_json_integer_in_its_bounds(amount):
    outputs = f'[{{"amount":1,"secret":"a"}},{{"amount":{amount},"secret":"b"}}]'
    body = f'{{"outputs":{outputs}}}'

    detail, index = refused("mint", json.loads(body))

    assert detail.startswith("outputs[1].amount: must ")
    assert index == 1


@pytest.mark.parametrize(
    ("endpoint", "more", "name", "index"),
    [
        ("mint", {"metdata": {"name": "lost"}}, "metdata", None),
        ("mint", {"metadata": {"nmae": "lost"}}, "metadata.nmae", None),
        (
            "mint",
            {"outputs": [{"amount": 1, "secret": "a", "note": 1}]},
            "outputs[0].note",
            0,
        ),
        ("swap", {"memo": "thanks"}, "memo", None),
        ("check", {"inputs": []}, "inputs", None),
        # These may be secrets that slipped into the wrong place.
        ("mint", {"+5.deed_x.secret": "x"}, "(an unknown key)", None),
        ("mint", {"": "x"}, "(an unknown key)", None),
        ("mint", {"k" * 25: "x"}, "(an unknown key)", None),
        ("mint", {"\ud800": "x"}, "(an unknown key)", None),
    ],
)
def test_an_unknown_key_is_refused_by_its_name_if_it_can_be_one(
    endpoint, more, name, index
):
    said = (f"{name}: is not a field of this request", index)

    assert refused(endpoint, GOOD[endpoint] | more) == said


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        (None, None),
        ({}, "{}"),
        ({"name": ""}, '{"name":""}'),
        (
            {"image": "https://a.example/b.png", "description": "D", "name": "N"},
            '{"name":"N","description":"D","image":"https://a.example/b.png"}',
        ),
        ({"name": "  Grüße 東京 🏡 e\u0301"}, '{"name":"  Grüße 東京 🏡 e\u0301"}'),
        ({"name": '"\\\n\t\0\x7f\u2028'}, '{"name":"\\"\\\\\\n\\t\\u0000\x7f\u2028"}'),
    ],
)
def test_metadata_is_kept_as_compact_json_in_one_order(metadata, text):
    assert stored_metadata(metadata) == text


@pytest.mark.parametrize("field", ["name", "description", "image"])
def test_a_metadata_field_that_is_no_text_is_refused(field):
    for value in (None, 5, True, ["x"], {"x": "y"}, "\ud800", "x\udfff"):
        detail, index = refused("mint", GOOD["mint"] | {"metadata": {field: value}})
        assert (detail.startswith(f"metadata.{field}: "), index) == (True, None)


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_may_be_an_absolute_uri_that_a_page_can_show(image):
    assert json.loads(stored_metadata({"image": image})) == {"image": image}


@pytest.mark.parametrize("image", NO_IMAGES)
def test_any_other_image_is_refused(image):
    detail, _ = refused("mint", GOOD["mint"] | {"metadata": {"image": image}})

    assert detail.startswith("metadata.image: must be an absolute URI")
