"""Whatever a request is made of: done as it says, or refused. Nothing else.

Requests of the wrong structure are made up by Schemathesis, in test_openapi_fuzz.py.
"""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from deeds.domain.model import AMOUNT_MAX, RawOutput
from schemas.requests import CheckRequestSchema, MintRequestSchema, SwapRequestSchema, load
from tests.support.mutating import near_bytes
from tests.support.requests import mint

pytestmark = pytest.mark.soak(share=0.2)

# One service serves all examples of a test.
MANY = examples(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ARRAY_LENGTH_MAX = 4

AMOUNTS = st.integers(1, AMOUNT_MAX)
WHOLE = st.characters(exclude_categories=["Cs"])
SECRETS = st.text(WHOLE, min_size=1, max_size=32) | st.sampled_from(["a" * 32, "\u00e9"])
IDS = st.text(WHOLE.filter(lambda each: each != "."), max_size=30).map("deed_".__add__)
IMAGES = st.sampled_from(["https://a.example/b?c", "ipfs:a", "data:image/png;base64,AA"])
METADATA = st.fixed_dictionaries(
    {}, optional={"name": st.text(WHOLE), "description": st.text(WHOLE), "image": IMAGES}
)


def some(elements):
    return st.lists(elements, min_size=1, max_size=ARRAY_LENGTH_MAX)


TEXTS = some(st.builds(RawOutput, AMOUNTS, IDS, SECRETS).map(str))
OBJECTS = some(st.fixed_dictionaries({"amount": AMOUNTS, "secret": SECRETS}))
GOOD = {
    MintRequestSchema: st.fixed_dictionaries(
        {"outputs": OBJECTS}, optional={"metadata": METADATA | st.none()}
    ),
    SwapRequestSchema: st.fixed_dictionaries({"inputs": TEXTS, "outputs": TEXTS}),
    CheckRequestSchema: st.fixed_dictionaries({"outputs": TEXTS}),
}


def as_data(value):
    """Return data that says what the value of a request schema says."""
    if hasattr(value, "metadata"):
        outputs = [{"amount": new.amount, "secret": new.secret} for new in value.outputs]
        return {"outputs": outputs, "metadata": value.metadata and json.loads(value.metadata)}
    names = [name for name in ("inputs", "outputs") if hasattr(value, name)]
    return {name: list(map(str, getattr(value, name))) for name in names}


@pytest.mark.parametrize("schema_class", GOOD, ids=lambda each: each.__name__)
@MANY
@given(st.data())
def test_a_good_request_is_taken_and_says_the_same(schema_class, data):
    sent = data.draw(GOOD[schema_class])

    value = load(schema_class(array_length_max=ARRAY_LENGTH_MAX), sent)

    assert as_data(value) in (sent, sent | {"metadata": None})


BODIES = {
    "/v1/mint": [
        b'{"outputs":["+5.a","+3.b"],"metadata":{"name":"N","image":"https://a.example/b"}}',
        b'{"outputs":[{"amount":5,"secret":"a"},{"amount":9007199254740986,"secret":"b"}]}',
        b'{"metadata":null,"outputs":["+1.\\u00e9","+2..\\ud83d\\ude00","+3.deed_x.a"]}',
    ],
    "/v1/swap": [b'{"inputs":["+5.ITEM.a"],"outputs":["+2.ITEM.c","+3.ITEM.d"]}'],
    "/v1/check": [b'{"outputs":["+5.ITEM.a","+3.ITEM.b","+1.deed_x.a"]}'],
}


@pytest.mark.parametrize("path", BODIES)
@MANY
@given(st.data())
def test_a_body_of_almost_the_right_bytes_is_done_or_refused(client, ledger, path, data):
    item_id = mint(client, "+5.a", "+3.b").encode()
    body = data.draw(near_bytes(BODIES[path])).replace(b"ITEM", item_id)

    answer = client.post(path, data=body, content_type="application/json")

    said = json.loads(answer.data)
    if answer.status_code == 200:
        assert answer.content_type == "application/json"
    else:
        assert 400 <= answer.status_code <= 499
        assert answer.content_type == "application/problem+json"
        assert said["status"] == answer.status_code
