"""No text of a request costs more to match than its length: counted, not timed."""

import importlib
import re

# The patterns' own syntax trees: there is no public way to them.
from re import _constants, _parser  # type: ignore[attr-defined]

from tests.support.sources import module_paths

# Rounds of a group that may be remembered: some 3 kB.
ROUNDS_MAX = 16

REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
CHARACTERS = {_constants.IN, _constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY}


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
    names = [path.removesuffix(".py").replace("/", ".") for path in module_paths()]
    patterns = {
        f"{name}.{attribute}": value
        for name in names
        if not name.startswith("storage.")
        for attribute, value in vars(importlib.import_module(name)).items()
        if isinstance(value, re.Pattern)
    }

    found = {
        name.rpartition(".")[2]
        for name, each in patterns.items()
        if list(repeated_groups(_parser.parse(each.pattern, each.flags)))
    }

    assert len(patterns) > 10
    # The scripts of our own pages.
    assert found == {"_COMMENTS"}
