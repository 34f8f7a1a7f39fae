"""What the body of each request may hold: the schemas alone, without HTTP."""

import json

import pytest

from deeds.errors import InvalidRequestError
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

# All that follows is JSON.
NO_OBJECTS = ["[]", '"text"', '"{}"', "5", "true", '[{"name":"x"}]']

# What is no array of outputs, and the index of the element at fault: in all forms, in a
# mint, in the others.
NO_ARRAYS = [
    ("[]", None),
    ("null", None),
    ('"+1.a"', None),
    ('{"0":"+1.a"}', None),
    ("true", None),
    (json.dumps(["+5.deed_x.a"] * 257), None),
    ('["5.a"]', 0),
    ('["+5.deed_x.a","+5.deed_x."]', 1),
]
NO_MINT_OUTPUTS = [
    ('["+1.a",{"amount":1,"secret":"b"}]', None),
    ('[["+1.a"]]', None),
    ('["+1.a",null]', None),
    ('[{"amount":1}]', 0),
    ('[{"secret":"a"}]', 0),
    ('[{"amount":1,"secret":"a","itemId":"deed_x"}]', 0),
    ('[{"amount":1,"secret":5}]', 0),
    ('[{"amount":1,"secret":true}]', 0),
    ('[{"amount":1,"secret":["a"]}]', 0),
    ('[{"amount":1,"secret":""}]', 0),
    ('[{"amount":1,"secret":"a23456789012345678901234567890123"}]', 0),
    ('[{"amount":1,"secret":"\\ud800"}]', 0),
    ('[{"amount":1,"secret":"a"},{"amount":1,"secret":null}]', 1),
]
NO_RAW_OUTPUTS = [
    ("[null]", 0),
    ('[["+5.deed_x.a"]]', 0),
    ('[{"amount":5,"itemId":"deed_x","secret":"a"}]', 0),
    ('["+5.a"]', 0),
    ('["+5.deed_x.a",5]', 1),
]

# 1.0 and 1e2 are numbers, too.
NO_AMOUNTS = ["0", "-0", "-1", "1.0", "1.5", "1e2", "1E400", '"5"', "true", "null"]
NO_AMOUNTS += ["[5]", "{}", "9007199254740992", "9223372036854775808"]
NO_AMOUNTS += ["18446744073709551617", "1" + "0" * 400]

IMAGES = [
    "https://a.example/b/c.png?width=320&x=a/b?c",
    "https://user:word@a.example:8443/b.png",
    "https://a.example:/b.png",
    "HTTPS://A.EXAMPLE/B.PNG",
    "https://[2001:db8::1]:443/b.png",
    "https://xn--bcher-kva.example/%C3%A9.png",
    "https://a.example//b//c",
    "https://a.example/b,(c);d='e'!*$~_-.@:.png",
    "ar:cG9ydHJhaXQ",
    "ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi",
    "data:image/png,",
    "data:image/svg+xml;charset=utf-8,%3Csvg%2F%3E",
    "DATA:IMAGE/GIF;BASE64,R0lGODlhAQABA=",
    # A picture in a data URI is large, and the pattern must not mind.
    "data:image/png;base64," + "iVBORw0KGgo" * 30_000,
]

NO_IMAGES = [
    # Relative, or without a host.
    "",
    "/a.png",
    "https:/a.example/b.png",
    "https:///b.png",
    "https://?a",
    # With a host that is none.
    "https://a.example:port/b.png",
    "https://[::1/b.png",
    "https://bücher.example/b.png",
    "https://a.example@b@c/",
    "https://a.example\\@b.example/",
    " https://a.example/b",
    # Of another scheme.
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    "\x01javascript:alert(1)",
    "ipfs://",
    "blob:https://a.example/1",
    "httpsx://a.example/b.png",
    "ar:",
    # Of another kind of data.
    "data:",
    "data:text/html,<script>alert(1)</script>",
    "data:text/html;image/png,x",
    "data:image/*,x",
    "data:image/png",
    "data:image/png;charset,x",
    "data:image/png,a b",
    "data:image/png,x#y",
    "data: image/png,x",
    # With what no path may hold.
    "https://a.example/b#fragment",
    "https://a.example/b c.png",
    "https://a.example/b.png\n",
    "https://a.example/\0",
    'https://a.example/"onerror="alert(1)',
    "https://a.example/<script>",
    "https://a.example/%",
    "https://a.example/%zz",
]


def refused(request, body):
    """Return what the refusal of the body says, and the element at fault."""
    with pytest.raises(InvalidRequestError) as caught:
        load(SCHEMAS[request], body)
    return str(caught.value), caught.value.index


@pytest.mark.parametrize("body", NO_OBJECTS)
@pytest.mark.parametrize("endpoint", SCHEMAS)
def test_a_body_that_is_no_object_is_refused(endpoint, body):
    said = ("the body: must be an object", None)

    assert refused(endpoint, json.loads(body)) == said


@pytest.mark.parametrize("metadata", NO_OBJECTS)
def test_metadata_that_is_no_object_is_refused(metadata):
    body = GOOD["mint"] | {"metadata": json.loads(metadata)}

    assert refused("mint", body) == ("metadata: must be an object", None)


@pytest.mark.parametrize(("endpoint", "field"), ARRAYS)
def test_an_array_is_required(endpoint, field):
    others = {name: value for name, value in GOOD[endpoint].items() if name != field}

    assert refused(endpoint, others) == (f"{field}: is required", None)


@pytest.mark.parametrize(
    ("endpoint", "field", "value", "index"),
    [(*array, *case) for array in ARRAYS for case in NO_ARRAYS]
    + [("mint", "outputs", *case) for case in NO_MINT_OUTPUTS]
    + [(*array, *case) for array in ARRAYS[1:] for case in NO_RAW_OUTPUTS],
)
def test_anything_else_is_refused_with_its_element(endpoint, field, value, index):
    body = GOOD[endpoint] | {field: json.loads(value)}

    detail, place = refused(endpoint, body)

    assert detail.startswith(field)
    assert place == index


@pytest.mark.parametrize("amount", NO_AMOUNTS)
def test_an_amount_is_a_json_integer_in_its_bounds(amount):
    outputs = f'[{{"amount":1,"secret":"a"}},{{"amount":{amount},"secret":"b"}}]'

    detail, index = refused("mint", {"outputs": json.loads(outputs)})

    assert detail.startswith("outputs[1].amount: must ")
    assert index == 1


@pytest.mark.parametrize(
    ("endpoint", "more", "name", "index"),
    [
        ("mint", '{"metdata":{"name":"lost"}}', "metdata", None),
        ("mint", '{"metadata":{"nmae":"lost"}}', "metadata.nmae", None),
        (
            "mint",
            '{"outputs":[{"amount":1,"secret":"a","note":1}]}',
            "outputs[0].note",
            0,
        ),
        ("swap", '{"memo":"thanks"}', "memo", None),
        ("check", '{"inputs":[]}', "inputs", None),
    ],
)
def test_an_unknown_key_is_refused_by_its_name(endpoint, more, name, index):
    body = GOOD[endpoint] | json.loads(more)

    assert refused(endpoint, body) == (
        f"{name}: is not a field of this request",
        index,
    )


@pytest.mark.parametrize("key", ["+5.deed_x.secret", "", "k" * 25, "\ud800"])
def test_an_unknown_key_that_may_be_a_secret_is_not_named(key):
    detail, _ = refused("mint", GOOD["mint"] | {key: "x"})

    assert detail == "(an unknown key): is not a field of this request"


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ("null", None),
        ("{}", "{}"),
        ('{ "name": "" }', '{"name":""}'),
        (
            '{"image":"https://a.example/b.png","description":"D","name":"N"}',
            '{"name":"N","description":"D","image":"https://a.example/b.png"}',
        ),
        (
            '{"name":"  Gr\\u00fc\\u00dfe 東京 🏡 e\\u0301"}',
            '{"name":"  Grüße 東京 🏡 e\u0301"}',
        ),
        (
            r'{"name":"\u0022\\\u000a\t\u0000\u007f\u2028"}',
            '{"name":"\\"\\\\\\n\\t\\u0000\x7f\u2028"}',
        ),
    ],
)
def test_metadata_is_kept_as_compact_json_in_one_order(metadata, text):
    body = GOOD["mint"] | {"metadata": json.loads(metadata)}

    assert load(SCHEMAS["mint"], body).metadata == text


@pytest.mark.parametrize(
    "value", ["null", "5", "true", '["x"]', '{"x":"y"}', r'"\ud800"', r'"x\udfff"']
)
@pytest.mark.parametrize("field", ["name", "description", "image"])
def test_a_metadata_field_that_is_no_text_is_refused(field, value):
    metadata = {field: json.loads(value)}

    detail, index = refused("mint", GOOD["mint"] | {"metadata": metadata})

    assert detail.startswith(f"metadata.{field}: ")
    assert index is None


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_may_be_an_absolute_uri_that_a_page_can_show(image):
    minted = load(SCHEMAS["mint"], GOOD["mint"] | {"metadata": {"image": image}})

    assert json.loads(minted.metadata) == {"image": image}


@pytest.mark.parametrize("image", NO_IMAGES)
def test_any_other_image_is_refused(image):
    detail, _ = refused("mint", GOOD["mint"] | {"metadata": {"image": image}})

    assert detail.startswith("metadata.image: must be an absolute URI")
