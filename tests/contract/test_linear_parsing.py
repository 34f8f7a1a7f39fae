"""No text of a request costs more to match than its length: counted, not timed."""

import importlib
import re
import tracemalloc
from contextlib import suppress

# The patterns' own syntax trees: there is no public way to them.
from re import _constants, _parser  # type: ignore[attr-defined]

import pytest
from marshmallow import ValidationError

from schemas.requests import check_image
from tests.support.sources import module_paths

# Rounds of a group that may be remembered: some 3 kB.
ROUNDS_MAX = 16

REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
CHARACTERS = {_constants.IN, _constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY}

# Long ones of every part, good and bad.
IMAGES = [
    "data:image/png;base64," + "A" * 100_000,
    "data:image/png," + "A" * 100_000 + " ",
    "data:image/png" + ";a=b" * 25_000 + ",",
    "https://a/" + "a%41" * 25_000,
    "https://a/" + "a" * 100_000 + "#",
    "https://" + "%41" * 33_000 + "#",
    "https://" + "a@" * 50_000,
    "https://" + ":" * 100_000,
    "ipfs:" + "a" * 100_000 + "#",
]


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image[:20])
def test_an_image_of_any_length_is_read_in_next_to_no_memory(image):
    tracemalloc.start()
    with suppress(ValidationError):
        check_image(image)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak_bytes < 16_384


def patterns():
    """Yield every pattern of the sources, by name."""
    for path in module_paths():
        name = path.removesuffix(".py").replace("/", ".")
        if name.startswith(("deeds.", "schemas.")):
            for attribute, value in vars(importlib.import_module(name)).items():
                for each in value if isinstance(value, list) else [value]:
                    if isinstance(each, re.Pattern):
                        yield f"{name}.{attribute}", each


def repeated_groups(tree):
    """Yield what a pattern repeats more than ROUNDS_MAX times, single characters apart.

    Python remembers each round of such a repetition; nested, they are what makes a
    match exponential.
    """
    for part in tree:
        if isinstance(part, tuple) and part[0] in REPEATS:
            _low, high, body = part[1]
            if high > ROUNDS_MAX and [each[0] in CHARACTERS for each in body] != [True]:
                yield str(body)
        if isinstance(part, list | tuple | _parser.SubPattern):
            yield from repeated_groups(part)


def test_no_pattern_repeats_more_than_single_characters_without_bound():
    found = [
        (name, list(repeated_groups(_parser.parse(each.pattern, each.flags))))
        for name, each in patterns()
    ]

    assert len(found) > 10
    # A header, which gunicorn.conf.py bounds to 8190 bytes, and the scripts of our own
    # pages.
    assert [name for name, groups in found if groups] == [
        "deeds.blueprints.requests._QUOTED",
        "deeds.page.static_files._COMMENTS",
    ]
