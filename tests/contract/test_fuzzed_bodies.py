"""Bytes that are nearly a good body: done or refused, with the books in order either way."""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as examples
from hypothesis import strategies as st

from tests.support.mutating import ANY_CHARACTER, near_bytes
from tests.support.requests import mint

pytestmark = pytest.mark.soak(share=0.3)

# One service serves all examples of a test.
MANY = examples(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

MINTS = [
    b'{"outputs":["+5.a","+3.b"],"metadata":{"name":"N","image":"https://a.example/b"}}',
    b'{"outputs":[{"amount":5,"secret":"a"},{"amount":9007199254740986,"secret":"b"}]}',
    b'{"metadata":null,"outputs":["+1.\\u00e9","+2..\\ud83d\\ude00","+3.deed_x.a"]}',
]
SWAPS = [b'{"inputs":["+5.ITEM.a"],"outputs":["+2.ITEM.c","+3.ITEM.d"]}']
CHECKS = [b'{"outputs":["+5.ITEM.a","+3.ITEM.b","+1.deed_x.a"]}']
BODIES = {"/v1/mint": MINTS, "/v1/swap": SWAPS, "/v1/check": CHECKS}


def assert_answered(answer):
    """Assert that the answer is a good one, or a problem which the client has caused."""
    body = json.loads(answer.data)
    if answer.status_code == 200:
        assert answer.content_type == "application/json"
        return
    assert 400 <= answer.status_code <= 499
    assert answer.content_type == "application/problem+json"
    assert body["status"] == answer.status_code


@pytest.mark.parametrize("path", BODIES)
@MANY
@given(st.data())
def test_a_body_of_almost_the_right_bytes_is_done_or_refused(client, ledger, path, data):
    item_id = mint(client, "+5.a", "+3.b").encode()
    body = data.draw(near_bytes(BODIES[path])).replace(b"ITEM", item_id)

    answer = client.post(path, data=body, content_type="application/json")

    assert_answered(answer)


PRINTABLE = st.characters(min_codepoint=0x20, max_codepoint=0x7E)
KEYS = (
    st.text(PRINTABLE, max_size=300)
    | st.text(PRINTABLE, min_size=250, max_size=260)
    | st.text(ANY_CHARACTER, max_size=40)
).filter(lambda key: key == key.strip(" \t") and not key.startswith('"') and not {*"\r\n"} & {*key})


@MANY
@given(KEYS)
def test_an_idempotency_key_of_printable_ascii_is_taken_and_any_other_refused(client, ledger, key):
    header = key.encode("utf-8", "surrogatepass").decode("latin-1")
    fits = 1 <= len(key) <= 255 and all(" " <= each <= "~" for each in key)

    answers = [
        client.post(
            "/v1/mint",
            data=b'{"outputs":["+5.a"]}',
            content_type="application/json",
            environ_overrides={"HTTP_IDEMPOTENCY_KEY": header},
        )
        for _ in range(2)
    ]

    assert_answered(answers[0])
    assert (answers[0].status_code == 200) is fits
    assert answers[1].data == answers[0].data
