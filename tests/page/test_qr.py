"""POST /web/qr: texts to QR codes, which are neither stored nor logged."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from unittest.mock import DEFAULT, Mock

import pytest
import segno

from tests.support.api import good, refusal
from tests.support.marker import MARK, assert_no_trace

NO_UTF8 = "holds a lone surrogate, which no UTF-8 text can hold"
LINK = f"https://deeds.example.org/claim/deed_{26 * '0'}#+5."


def ask(api, *texts):
    return api.post("/web/qr", {"texts": texts})


def test_codes_come_in_the_order_of_their_texts_and_are_not_kept(api):
    """Paper tickets are read back in test_print.py."""
    [one], [other] = (good(ask(api, text))["codes"] for text in "ab")

    answer = ask(api, "b", "a")

    assert good(answer)["codes"] == [other, one]
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("texts", "index", "detail"),
    [
        (["a"] * 65, None, "texts: must have 1 to 64 elements"),
        (["a", "\ud800"], 1, f"texts[1]: the text {NO_UTF8}"),
        (["a", "😀" * 1024], 1, "texts[1]: has more bytes than fit into a QR code"),
        (["é" * 1024] * 7, None, "texts: must have at most 12288 bytes in all"),
    ],
)
def test_invalid_texts_are_refused_in_one_line(api, texts, index, detail):
    answer = api.post("/web/qr", {"texts": texts})

    assert refusal(answer) == (400, "invalid_request", index)
    assert answer.json()["detail"] == detail


@pytest.mark.parametrize("body", [{"texts": [LINK + MARK]}, {MARK: MARK}])
def test_no_log_and_no_refusal_tells_the_text(api, capfd, caplog, body):
    caplog.set_level(logging.DEBUG)

    answer = api.post("/web/qr", body)

    logged = capfd.readouterr().err
    assert '"route":"/web/qr"' in logged
    said = [logged, caplog.text, str(answer.headers)]
    if answer.status_code != 200:
        said.append(answer.text)
    assert_no_trace("".join(said).encode())


def test_four_batches_find_a_place_and_a_fifth_is_refused(api, monkeypatch):
    may_end = threading.Event()
    make_qr = Mock(wraps=segno.make_qr)
    make_qr.side_effect = lambda *_args, **_options: may_end.wait(30) and DEFAULT
    monkeypatch.setattr(segno, "make_qr", make_qr)

    with ThreadPoolExecutor(max_workers=5) as pool:
        asked = [pool.submit(ask, api, "a") for _ in range(5)]
        first = next(as_completed(asked, timeout=30)).result()
        may_end.set()
        statuses = [each.result().status_code for each in asked]

    assert refusal(first) == (503, "overloaded", None)
    assert first.headers["Retry-After"] == "1"
    assert sorted(statuses) == [200, 200, 200, 200, 503]


def test_places_are_given_back_when_a_text_does_not_fit(api):
    statuses = [ask(api, "😀" * 1024).status_code for _ in range(5)]

    assert statuses == [400] * 5
    assert ask(api, "a").status_code == 200
