"""How deep JSON may be nested is the service's rule, the same on every Python."""

import pytest

from tests.support.api import refusal
from tests.support.databases import on_shared_sqlite, on_sqlite

# What opens and what closes a level. Brackets in texts and in what has ended make none.
LEVELS = {
    "arrays": ("[", "]"),
    "objects": ('{"a":', "}"),
    "arrays that begin with a flat one": ("[[],", "]"),
    "arrays with a text that opens": ('["[{",', "]"),
    "arrays with a text that closes": ('["]}",', "]"),
    "arrays with an escaped quote": ('["\\"]",', "]"),
    "arrays with an escaped backslash": ('["\\\\","]",', "]"),
}
DEPTH_MAX = 512
TOO_DEEP = "the body is nested too deeply"


@on_shared_sqlite
@pytest.mark.parametrize(("opening", "closing"), LEVELS.values(), ids=LEVELS)
@pytest.mark.parametrize(
    ("depth", "code"),
    [(DEPTH_MAX, "invalid_request"), (DEPTH_MAX + 1, "invalid_json")],
)
def test_json_is_judged_by_its_shape_up_to_the_greatest_depth(
    shared_api, opening, closing, depth, code
):
    body = opening * (depth - 1) + "{}" + closing * (depth - 1)

    answer = shared_api.post("/v1/mint", body)

    assert refusal(answer) == (400, code, None)
    assert (answer.json()["detail"] == TOO_DEEP) == (depth > DEPTH_MAX)


@on_sqlite
@pytest.mark.parametrize("name", ["arrays", "objects"])
def test_50000_levels_are_refused_where_long_arrays_are_allowed(open_api, name):
    api = open_api(DEEDS_MAX_ARRAY="8000")
    opening, closing = LEVELS[name]

    answer = api.post("/v1/mint", opening * 50_000 + closing * 50_000)

    assert answer.json()["detail"] == TOO_DEEP


@on_shared_sqlite
def test_brackets_in_a_text_do_not_count_as_levels(shared_api):
    assert shared_api.mint("+5.a", metadata={"name": '[{"\\' * DEPTH_MAX})
