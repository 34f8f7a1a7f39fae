"""A body of almost the right bytes is done as it says, or refused. Nothing else.

Bodies of the wrong structure are made up by Schemathesis, in test_openapi_fuzz.py.
"""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.support.mutating import near_bytes
from tests.support.requests import mint

# One service serves all examples of a test.
MANY = examples(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

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
