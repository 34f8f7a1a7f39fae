"""POST /web/qr: texts to QR codes, which nobody keeps and no log tells of."""

import logging
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import segno

from tests.support.marker import MARK, assert_no_trace
from tests.support.requests import post, refusal

LINK = f"https://deeds.example.org/claim#+5.deed_{26 * '0'}."


@pytest.mark.parametrize("text", ["a", LINK + MARK, "ä€😀" * 30, " \n\t\0"])
def test_the_code_of_a_text_is_drawn_dark_on_light_with_its_quiet_zone(client, text):
    answer = post(client, "/web/qr", {"text": text})

    assert (answer.status_code, answer.content_type) == (200, "image/svg+xml")
    assert answer.headers["Cache-Control"] == "no-store"
    expected = segno.make_qr(text, error="m", encoding="utf-8")
    side = len(expected.matrix) + 8
    assert f'viewBox="0 0 {side} {side}"' in answer.text
    assert f'<path fill="#fff" d="M0 0h{side}v{side}h-{side}z"/>' in answer.text
    # From the middle of the first row below the quiet zone: lengths of what is dark.
    [path] = re.findall(r' stroke="#000" d="([^"]*)"', answer.text)
    assert path.startswith("M4 4.5h7")
    lengths = [int(length) for length in re.findall(r"h(\d+)", path)]
    assert sum(lengths) == sum(map(sum, expected.matrix))


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("", "text: must have 1 to 1024 characters"),
        ("a" * 1025, "text: must have 1 to 1024 characters"),
        ("😀" * 1024, "text: has more bytes than fit into a QR code"),
        (5, "text: must be a string"),
    ],
)
def test_an_invalid_text_is_refused_in_one_line(client, text, detail):
    answer = post(client, "/web/qr", {"text": text})

    assert refusal(answer) == (400, "invalid_request", None)
    assert answer.get_json()["detail"] == detail


@pytest.mark.parametrize("body", [{"text": LINK + MARK}, {"text": [MARK]}, {MARK: MARK}])
def test_no_log_and_no_refusal_tells_the_text(client, capfd, caplog, body):
    caplog.set_level(logging.DEBUG)

    answer = post(client, "/web/qr", body)

    logged = capfd.readouterr().err
    assert '"route":"/web/qr"' in logged
    for said in [logged, caplog.text, answer.text, str(answer.headers)]:
        assert_no_trace(said.encode())


def test_more_codes_at_once_than_there_is_room_for_are_refused(app, monkeypatch):
    has_begun, may_end = threading.Semaphore(0), threading.Event()
    make_qr = segno.make_qr

    def make_slowly(*args, **kwargs):
        has_begun.release()
        assert may_end.wait(30)
        return make_qr(*args, **kwargs)

    def ask(text):
        return post(app.test_client(), "/web/qr", {"text": text})

    monkeypatch.setattr("deeds.page.pages.segno.make_qr", make_slowly)
    with ThreadPoolExecutor(max_workers=2) as pool:
        slow = [pool.submit(ask, "😀" * 1024) for _ in range(2)]
        assert all(has_begun.acquire(timeout=30) for _ in slow)
        refused = ask("a")
        may_end.set()

    assert refusal(refused) == (503, "overloaded", None)
    assert refused.headers["Retry-After"] == "1"
    # The places are given back when a text does not fit.
    assert [answer.result().status_code for answer in slow] == [400, 400]
    assert ask("a").status_code == 200
