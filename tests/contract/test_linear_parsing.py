"""What a request costs to read grows with its size and no faster: counted, not timed."""

import importlib
import re
from contextlib import suppress

import pytest
from marshmallow import ValidationError

from deeds.domain.errors import InvalidRequestError, RawOutputError
from deeds.domain.raw_output import parse_mint_output, parse_raw_output
from schemas.requests import (
    CheckRequestSchema,
    MintRequestSchema,
    SwapRequestSchema,
    check_image,
    load,
)
from tests.support.sources import module_paths
from tests.support.steps import lines_run, peak_bytes, repeated_groups

SIZES = (1_000, 100_000)

# Rounds of a group that may be remembered: some 3 kB.
ROUNDS_MAX = 16

# A header: gunicorn.conf.py bounds it to 8190 bytes.
READ_FROM_A_HEADER = {"deeds.domain.idempotency._QUOTED"}

TEXTS = {
    "a raw output": lambda n: "+5.deed_x." + "a" * n,
    "zeros": lambda n: f"+{'0' * n}1.deed_x.a",
    "pluses": lambda n: "+" * n,
    "dots": lambda n: "+5" + "." * n,
    "a long id": lambda n: f"+5.deed_{'x' * n}.a",
    "a long placeholder": lambda n: f"+5.deed_{'x' * n}",
    "a surrogate at the end": lambda n: f"+5.deed_{'x' * n}\ud800.a",
}

IMAGES = {
    "data": lambda n: "data:image/png;base64," + "A" * n,
    "data that ends badly": lambda n: "data:image/png," + "A" * n + " ",
    "parameters": lambda n: "data:image/png" + ";a=b" * (n // 4) + ",",
    "no comma": lambda n: "data:image/" + "a" * n,
    "path of escapes and letters": lambda n: "https://a/" + "a%41" * (n // 4),
    "path that ends badly": lambda n: "https://a/" + "a" * n + "#",
    "host that ends badly": lambda n: "https://" + "a" * n + "#",
    "host of escapes": lambda n: "https://" + "%41" * (n // 3) + "#",
    "port": lambda n: "https://a:" + "1" * n + "#",
    "users": lambda n: "https://" + "a@" * (n // 2),
    "colons": lambda n: "https://" + ":" * n,
    "address": lambda n: "https://[" + ":" * n,
    "store": lambda n: "ipfs:" + "a" * n + "#",
}

# An element that fits and one that does not, for each array of a request.
SCHEMAS = {
    "mint of strings": (MintRequestSchema, ("outputs",), "+1.a", "1.a"),
    "mint of objects": (MintRequestSchema, ("outputs",), {"amount": 1, "secret": "a"}, {"b": 1}),
    "swap": (SwapRequestSchema, ("inputs", "outputs"), "+1.deed_x.a", "1.a"),
    "check": (CheckRequestSchema, ("outputs",), "+1.deed_x.a", "1.a"),
}


def patterns():
    """Yield every pattern of the sources, by name."""
    for path in module_paths():
        name = path.removesuffix(".py").replace("/", ".")
        if name.startswith(("deeds.", "schemas.")):
            for attribute, value in vars(importlib.import_module(name)).items():
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, re.Pattern):
                        yield f"{name}.{attribute}", each


def read(parse, *arguments):
    """Let it read, whatever comes of it."""
    with suppress(RawOutputError, InvalidRequestError, ValidationError):
        parse(*arguments)


@pytest.mark.parametrize("parse", [parse_raw_output, parse_mint_output])
@pytest.mark.parametrize("make", TEXTS.values(), ids=TEXTS)
def test_a_text_of_any_length_is_parsed_in_the_same_few_steps(parse, make):
    short, long = (lines_run(lambda n=n: read(parse, make(n))) for n in SIZES)

    assert short == long <= 40


@pytest.mark.parametrize("make", IMAGES.values(), ids=IMAGES)
def test_an_image_of_any_length_is_read_in_next_to_no_memory(make):
    image = make(SIZES[-1])

    assert peak_bytes(lambda: read(check_image, image)) < 16_384


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize(("schema", "arrays", "good", "bad"), SCHEMAS.values(), ids=SCHEMAS)
def test_each_element_of_a_request_costs_the_same(schema, arrays, good, bad, fits):
    def steps(count):
        data = {name: [good if fits else bad] * count for name in arrays}
        request = schema(array_length_max=256)
        return lines_run(lambda: read(load, request, data))

    steps(1)  # Some things are done once.
    few, more, most = steps(64), steps(128), steps(256)

    assert most - more == 2 * (more - few)


def test_no_pattern_repeats_more_than_single_characters_without_bound():
    found = {name: repeated_groups(pattern, ROUNDS_MAX) for name, pattern in patterns()}

    assert len(found) > 10
    assert {name for name, groups in found.items() if groups} == READ_FROM_A_HEADER
