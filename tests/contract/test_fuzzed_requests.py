"""Whatever a request is made of: done as it says, or refused. Nothing else."""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from deeds.domain.errors import InvalidRequestError
from deeds.domain.model import AMOUNT_MAX, RawOutput
from schemas.requests import CheckRequestSchema, MintRequestSchema, SwapRequestSchema, load
from tests.support.mutating import ANY_JSON, near_bytes, near_json
from tests.support.requests import mint

pytestmark = pytest.mark.soak(share=0.1)

# One service serves all examples of a test.
MANY = examples(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ARRAY_LENGTH_MAX = 4

AMOUNTS = st.integers(1, AMOUNT_MAX)
WHOLE = st.characters(exclude_categories=["Cs"])
SECRETS = st.text(WHOLE, min_size=1, max_size=32) | st.sampled_from(["a" * 32, "\u00e9"])
NAMES = st.text(WHOLE) | st.just("")
IDS = st.text(WHOLE.filter(lambda each: each != "."), max_size=30).map("deed_".__add__)
RAW_OUTPUTS = st.builds(RawOutput, AMOUNTS, IDS, SECRETS)
METADATA = st.fixed_dictionaries(
    {},
    optional={
        "name": NAMES,
        "description": NAMES,
        "image": st.sampled_from(["https://a.example/b?c", "ipfs:a", "data:image/png;base64,AA"]),
    },
)


def some(elements):
    return st.lists(elements, min_size=1, max_size=ARRAY_LENGTH_MAX)


TEXTS = some(RAW_OUTPUTS.map(str))
OBJECTS = some(st.fixed_dictionaries({"amount": AMOUNTS, "secret": SECRETS}))
GOOD = {
    MintRequestSchema: st.fixed_dictionaries(
        {"outputs": TEXTS | OBJECTS}, optional={"metadata": METADATA | st.none()}
    ),
    SwapRequestSchema: st.fixed_dictionaries({"inputs": TEXTS, "outputs": TEXTS}),
    CheckRequestSchema: st.fixed_dictionaries({"outputs": TEXTS}),
}


def loaded(schema, data):
    """Return what the schema makes of the data, None where it refuses; any other error goes on."""
    try:
        return load(schema, data)
    except InvalidRequestError as error:
        refused = error
    assert refused.detail.isprintable()
    assert len(refused.detail) < 200
    assert refused.index is None or 0 <= refused.index < ARRAY_LENGTH_MAX
    return None


def as_data(schema_class, value):
    """Return data that says what the value of a request schema says."""
    if schema_class is MintRequestSchema:
        outputs = [{"amount": new.amount, "secret": new.secret} for new in value.outputs]
        metadata = None if value.metadata is None else json.loads(value.metadata)
        return {"outputs": outputs, "metadata": metadata}
    if schema_class is SwapRequestSchema:
        return {"inputs": list(map(str, value.inputs)), "outputs": list(map(str, value.outputs))}
    return {"outputs": list(map(str, value.outputs))}


@pytest.mark.parametrize("schema_class", GOOD, ids=lambda each: each.__name__)
@MANY
@given(st.data())
def test_a_good_request_is_taken_and_says_the_same(schema_class, data):
    sent = data.draw(GOOD[schema_class])
    schema = schema_class(array_length_max=ARRAY_LENGTH_MAX)

    value = loaded(schema, sent)

    again = as_data(schema_class, value)
    assert loaded(schema, again) == value
    if schema_class is MintRequestSchema:
        assert again["metadata"] == sent.get("metadata")
    if schema_class is not MintRequestSchema or isinstance(sent["outputs"][0], dict):
        assert again["outputs"] == sent["outputs"]


@pytest.mark.parametrize("schema_class", GOOD, ids=lambda each: each.__name__)
@MANY
@given(st.data())
def test_what_is_nearly_a_request_is_refused_or_says_the_same(schema_class, data):
    sent = data.draw(near_json(GOOD[schema_class]) | ANY_JSON)
    schema, before = schema_class(array_length_max=ARRAY_LENGTH_MAX), json.dumps(sent)

    value = loaded(schema, sent)

    assert json.dumps(sent) == before
    if value is not None:
        assert loaded(schema, as_data(schema_class, value)) == value
        assert sent.keys() <= as_data(schema_class, value).keys()
        assert len(value.outputs) == len(sent["outputs"])


BODIES = {
    "/v1/mint": [
        b'{"outputs":["+5.a","+3.b"],"metadata":{"name":"N","image":"https://a.example/b"}}',
        b'{"outputs":[{"amount":5,"secret":"a"},{"amount":9007199254740986,"secret":"b"}]}',
        b'{"metadata":null,"outputs":["+1.\\u00e9","+2..\\ud83d\\ude00","+3.deed_x.a"]}',
    ],
    "/v1/swap": [b'{"inputs":["+5.ITEM.a"],"outputs":["+2.ITEM.c","+3.ITEM.d"]}'],
    "/v1/check": [b'{"outputs":["+5.ITEM.a","+3.ITEM.b","+1.deed_x.a"]}'],
}


@pytest.mark.soak(share=0.3)
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
