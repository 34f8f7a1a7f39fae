"""POST /web/qr: texts to QR codes, which nobody keeps and no log tells of."""

import logging
import threading
import xml.etree.ElementTree as ET

import pytest
import segno

from deeds.domain.model import QrRequest
from tests.support.marker import MARK, assert_no_trace
from tests.support.requests import post, refusal

LINK = f"https://deeds.example.org/claim#+5.deed_{26 * '0'}."


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


def parse(svg):
    return ET.fromstring(svg)  # noqa: S314 - our own answer


def modules(svg):
    """Return the dark places of a code as the set of their columns and rows, by its path."""
    path = parse(svg).find("{http://www.w3.org/2000/svg}path[@stroke]")
    dark, column, row = set(), 0.0, 0.0
    for step in (
        path.attrib["d"].replace("m", "|m").replace("h", "|h").replace("M", "|M").split("|")
    ):
        numbers = [float(each) for each in step[1:].replace("-", " -").split()]
        if step.startswith("M"):
            column, row = numbers
        elif step.startswith("m"):
            column, row = column + numbers[0], row + numbers[1]
        elif step.startswith("h"):
            dark |= {(int(column) + each, int(row)) for each in range(int(numbers[0]))}
            column += numbers[0]
    return dark


@pytest.mark.parametrize("text", ["a", LINK + MARK, "1" * 1024, "ä€😀" * 30, " \n\t\0"])
def test_the_code_of_a_text_is_drawn_dark_on_light_with_its_quiet_zone(client, text):
    answer = post(client, "/web/qr", {"text": text})

    assert (answer.status_code, answer.content_type) == (200, "image/svg+xml")
    assert answer.headers["Cache-Control"] == "no-store"
    expected = segno.make_qr(text, error="m", encoding="utf-8")
    assert modules(answer.data) == {
        (column + 4, row + 4)
        for row, line in enumerate(expected.matrix)
        for column, is_dark in enumerate(line)
        if is_dark
    }
    side = len(expected.matrix) + 8
    svg = parse(answer.data)
    assert svg.attrib["viewBox"] == f"0 0 {side} {side}"
    assert svg[1].attrib["stroke"] == "#000"
    assert svg[0].attrib == {"fill": "#fff", "d": f"M0 0h{side}v{side}h-{side}z"}


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"text": ""}, "text: must have 1 to 1024 characters"),
        ({"text": "a" * 1025}, "text: must have 1 to 1024 characters"),
        ({"text": "😀" * 1024}, "text: has more bytes than fit into a QR code"),
        ({"text": 5}, "text: must be a string"),
        ({"text": None}, "text: must not be null"),
        ({}, "text: is required"),
        ({"text": "a", "size": 9}, "size: is not a field of this request"),
        ([], "the body: must be an object"),
        ({"text": "\ud800"}, "text: the text holds a lone surrogate, which no UTF-8 text can hold"),
    ],
)
def test_what_is_no_such_text_is_refused_in_one_line(client, body, detail):
    answer = post(client, "/web/qr", body)

    assert refusal(answer) == (400, "invalid_request", None)
    assert answer.get_json()["detail"] == detail


def test_a_text_is_asked_for_by_post_alone(client):
    assert client.get("/web/qr").status_code == 405
    assert refusal(client.post("/web/qr", data="text=a")) == (400, "wrong_media_type", None)


@pytest.mark.parametrize(
    "body", [{"text": LINK + MARK}, {"text": MARK * 33}, {"text": [MARK]}, {MARK: MARK}]
)
def test_no_log_and_no_refusal_tells_the_text(client, capfd, caplog, body):
    caplog.set_level(logging.DEBUG)

    answer = post(client, "/web/qr", body)

    logged = capfd.readouterr().err
    assert '"route":"/web/qr"' in logged
    assert_no_trace(logged.encode())
    assert_no_trace(caplog.text.encode())
    assert_no_trace(answer.data)
    assert_no_trace(str(answer.headers).encode())


def test_a_request_for_a_code_hides_its_text():
    assert repr(QrRequest(MARK)) == "QrRequest()"


def test_more_codes_at_once_than_there_is_room_for_are_refused(app, monkeypatch):
    has_begun, may_end = threading.Semaphore(0), threading.Event()
    make_qr = segno.make_qr

    def make_slowly(*args, **kwargs):
        has_begun.release()
        assert may_end.wait(30)
        return make_qr(*args, **kwargs)

    monkeypatch.setattr("deeds.page.qr.segno.make_qr", make_slowly)
    statuses = []

    def ask():
        statuses.append(post(app.test_client(), "/web/qr", {"text": "a"}).status_code)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    assert all(has_begun.acquire(timeout=30) for _ in threads)
    refused = post(app.test_client(), "/web/qr", {"text": "a"})
    may_end.set()
    for thread in threads:
        thread.join(30)

    assert refusal(refused) == (503, "overloaded", None)
    assert refused.headers["Retry-After"] == "1"
    assert statuses == [200, 200]
    assert post(app.test_client(), "/web/qr", {"text": "a"}).status_code == 200


def test_room_is_given_back_when_a_text_does_not_fit(client):
    refused = [post(client, "/web/qr", {"text": "😀" * 1024}).status_code for _ in range(4)]

    assert refused == [400] * 4
    assert post(client, "/web/qr", {"text": "a"}).status_code == 200
