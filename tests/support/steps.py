"""Counts what a call costs, in steps and in bytes, so that no test needs a clock."""

import gc
import sys
import tracemalloc

# The patterns' own syntax trees: there is no public way to them.
from re import _constants, _parser  # type: ignore[attr-defined]  # isort: skip

_REPEATS = {_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT}
_CHARACTERS = {_constants.IN, _constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY}


def lines_run(function):
    count = 0

    def trace(_frame, event, _argument):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    gc.disable()  # Finalizers would be counted too.
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def peak_bytes(function):
    """Return how much memory the call has in use at most, beyond what there was before."""
    function()  # What is made once is none of the call's.
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def repeated_groups(pattern, times_max):
    """Return what the pattern repeats oftener than that and is more than a single character.

    Python remembers each round of such a repetition; nested, they are what makes a match
    exponential.
    """
    return list(_repeated_groups(_parser.parse(pattern.pattern, pattern.flags), times_max))


def _repeated_groups(tree, times_max):
    for part in tree:
        if isinstance(part, tuple) and part[0] in _REPEATS:
            _low, high, body = part[1]
            if high > times_max and [each[0] in _CHARACTERS for each in body] != [True]:
                yield str(body)
        if isinstance(part, list | tuple | _parser.SubPattern):
            yield from _repeated_groups(part, times_max)
