"""JSON that is nested deeper than the interpreter reads is refused like other JSON."""

import pytest

from tests.support.api import refusal
from tests.support.databases import on_sqlite


@on_sqlite
@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["arrays", "objects"]
)
@pytest.mark.parametrize(
    ("depth", "code"), [(100, "invalid_request"), (80_000, "invalid_json")]
)
def test_json_is_judged_by_its_shape_until_it_is_nested_too_deeply(
    open_api, opening, closing, depth, code
):
    # Where long arrays are allowed, so that the number of values is no reason.
    api = open_api(DEEDS_MAX_ARRAY="8000")

    answer = api.post("/v1/mint", opening * depth + "{}" + closing * depth)

    assert refusal(answer) == (400, code, None)


def test_brackets_in_a_text_do_not_count_as_levels(shared_api):
    assert shared_api.mint("+5.a", metadata={"name": '[{"\\' * 512})
