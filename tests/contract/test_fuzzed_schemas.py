"""Whatever data a schema gets: a value that says the same, or InvalidRequestError. Nothing else."""

import json

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from deeds.blueprints import openapi_examples as shown
from deeds.domain.errors import InvalidRequestError
from deeds.domain.model import AMOUNT_MAX, Minted, RawOutput
from schemas.answers import MintResponseSchema
from schemas.fields import BoundedSchema
from schemas.requests import (
    CheckRequestSchema,
    MintRequestSchema,
    QrRequestSchema,
    SwapRequestSchema,
    load,
)
from tests.support.mutating import ANY_JSON, near_json

pytestmark = pytest.mark.soak(share=0.1)

MANY = examples(max_examples=80, deadline=None)
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

# Data near which that of any request lies: the document's examples.
ALL_SHOWN = [
    each["value"]
    for part in vars(shown).values()
    if isinstance(part, dict)
    for each in part.values()
    if isinstance(each, dict) and "value" in each
]


def made(schema_class):
    """Return a schema of this class."""
    bounded = issubclass(schema_class, BoundedSchema)
    return schema_class(array_length_max=ARRAY_LENGTH_MAX) if bounded else schema_class()


def loaded(schema, data):
    """Return what the schema makes of the data, None where it refuses; any other error goes on."""
    try:
        return load(schema, data)
    except InvalidRequestError as error:
        assert_fit_for_an_answer(error)
        return None


def assert_fit_for_an_answer(error):
    """Assert that what the error says is one short line, and names no element that cannot be."""
    assert error.detail.isprintable()
    assert len(error.detail) < 200
    assert error.index is None or 0 <= error.index < ARRAY_LENGTH_MAX


def as_data(schema_class, value):
    """Return data that says what the value of a request schema says."""
    if schema_class is MintRequestSchema:
        outputs = [{"amount": new.amount, "secret": new.secret} for new in value.outputs]
        metadata = None if value.metadata is None else json.loads(value.metadata)
        return {"outputs": outputs, "metadata": metadata}
    if schema_class is SwapRequestSchema:
        return {"inputs": list(map(str, value.inputs)), "outputs": list(map(str, value.outputs))}
    return {"outputs": list(map(str, value.outputs))}


@pytest.mark.parametrize("schema_class", [*GOOD, QrRequestSchema], ids=lambda each: each.__name__)
@MANY
@given(ANY_JSON | near_json(st.sampled_from(ALL_SHOWN)))
def test_every_request_takes_data_or_refuses_it(schema_class, data):
    before = json.dumps(data)

    loaded(made(schema_class), data)

    assert json.dumps(data) == before


@pytest.mark.parametrize("schema_class", GOOD, ids=lambda each: each.__name__)
@MANY
@given(st.data())
def test_a_good_request_is_taken_and_says_the_same(schema_class, data):
    sent = data.draw(GOOD[schema_class])
    schema = made(schema_class)

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
    sent = data.draw(near_json(GOOD[schema_class]))
    schema = made(schema_class)

    value = loaded(schema, sent)

    if value is not None:
        assert loaded(schema, as_data(schema_class, value)) == value
        assert sent.keys() <= as_data(schema_class, value).keys()
        assert len(value.outputs) == len(sent["outputs"])


def read_back(schema, value):
    """Return what a client reads of an answer, through JSON text."""
    return json.loads(json.dumps(schema.dump(value), ensure_ascii=False).encode())


@MANY
@given(st.builds(Minted, IDS, some(RAW_OUTPUTS).map(tuple)))
def test_the_answer_to_a_mint_tells_all_of_it(minted):
    assert read_back(MintResponseSchema(), minted) == {
        "itemId": minted.item_id,
        "outputs": [
            {"amount": raw.amount, "secret": raw.secret, "itemId": raw.item_id}
            for raw in minted.outputs
        ],
        "rawOutputs": [str(raw) for raw in minted.outputs],
    }
