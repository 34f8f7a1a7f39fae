"""Where a head or a body ends, whatever the pieces in which it comes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeds.server.gthread_worker.endings import (
    HEAD_BYTES_MAX,
    ChunksEnding,
    HeadEnding,
    LengthEnding,
)

LIMIT = 1000

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\n"
CHUNKS = {
    "the last alone": b"0\r\n\r\n",
    "one": b"5\r\nhello\r\n0\r\n\r\n",
    "three": b"5\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n",
    "line ends within": b"a\r\n\r\n0\r\n\r\n0\r\n\r\n0\r\n\r\n",
    "extensions": b'5 ; a=b; c="d"\r\nhello\r\n0;e\r\n\r\n',
    "trailers": b"5\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n",
    "leading zeros": b"0005\r\nhello\r\n00\r\n\r\n",
    "as much as allowed": b"3e8\r\n" + b"a" * LIMIT + b"\r\n0\r\nA: b\r\n\r\n",
    "large digits": b"0A\r\n0123456789\r\n0\r\n\r\n",
}

# Nothing good can come after these.
MALFORMED = {
    "no size": b"x\r\n",
    "negative": b"-1\r\n",
    "no line end after the data": b"1\r\nab\r\n",
    "nothing between": b"1\r\na\r\n\r\n",
    "endless size": b"0" * 9000,
    "more than allowed": b"1" + b"0" * 9 + b"\r\n" + b"a" * (LIMIT + 20),
    "more than allowed around it": b"1\r\na\r\n" * LIMIT,
    "endless trailers": b"0\r\n" + b"A: b\r\n" * HEAD_BYTES_MAX,
}


def reached_at(ending, pieces):
    """Return after how many bytes the ending was reached, or None."""
    data = bytearray()
    for piece in pieces:
        data += piece
        if ending.is_reached(data):
            return len(data)
    return None


def one_by_one(data):
    return [data[index : index + 1] for index in range(len(data))]


def test_a_head_ends_with_its_empty_line():
    assert reached_at(HeadEnding(), one_by_one(HEAD + b"body")) == len(HEAD)


@pytest.mark.parametrize("data", [b"\n", b"GET /\n", b"GET / HTTP/1.1\r\nHost: a\n"])
def test_a_line_that_ends_with_lf_alone_ends_the_waiting(data):
    assert reached_at(HeadEnding(), one_by_one(data + b"more")) == len(data)


def test_a_head_without_end_is_waited_for_up_to_the_limit():
    assert reached_at(HeadEnding(), one_by_one(b"a" * (HEAD_BYTES_MAX + 9))) == HEAD_BYTES_MAX


def test_a_body_of_known_length_ends_there():
    assert reached_at(LengthEnding(7), one_by_one(b"seven b and more")) == 7


@pytest.mark.parametrize("body", CHUNKS.values(), ids=CHUNKS)
def test_chunks_end_with_the_last_and_its_trailers(body):
    assert reached_at(ChunksEnding(LIMIT), one_by_one(body + b"5\r\n")) == len(body)


@pytest.mark.parametrize("body", CHUNKS.values(), ids=CHUNKS)
@given(data=st.data())
def test_chunks_end_there_whatever_the_pieces(body, data):
    cuts = sorted(data.draw(st.sets(st.integers(1, len(body) - 1))))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]

    assert reached_at(ChunksEnding(LIMIT), pieces) == len(body)


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_what_can_be_no_body_is_not_waited_for(body):
    assert reached_at(ChunksEnding(LIMIT), [body]) == len(body)
    assert reached_at(ChunksEnding(LIMIT), one_by_one(body)) is not None


@given(st.lists(st.sampled_from([b"0", b"1", b"f", b"\r\n", b";", b"a", b"\r", b"\n"])))
def test_any_bytes_are_judged_alike_in_one_piece_and_one_by_one(parts):
    """But for pieces that go on after an end: what follows is another request's."""
    body = b"".join(parts)
    at = reached_at(ChunksEnding(LIMIT), one_by_one(body))

    if at is None:
        assert reached_at(ChunksEnding(LIMIT), [body]) is None
    else:
        assert reached_at(ChunksEnding(LIMIT), [body[:at]]) == at
