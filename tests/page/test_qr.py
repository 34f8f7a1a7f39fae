"""POST /web/qr: texts to QR codes, which nobody keeps and no log tells of."""

import logging
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest
import segno

from deeds.settings import parse_rate_limits
from tests.support.marker import MARK, assert_no_trace
from tests.support.qr_reader import picture_of, read_codes
from tests.support.requests import post, refusal

LINK = f"https://deeds.example.org/claim/deed_{26 * '0'}#+5."

# In one, two, three and four bytes, from the shortest code to the largest.
TEXTS = [
    letter * length
    for letter, lengths in {
        "0": [1, 14, 15, 60],
        "A%\n": [30, 33, 36, 90],
        "a": [107, 150, 260, 1024],
        "é": [130, 700, 1024],
        "€": [200, 777],
        "😀": [1, 97, 582],
    }.items()
    for length in lengths
]
TEXTS += [LINK + MARK, " \n\t\0"]


def ask(client, *texts):
    return post(client, "/web/qr", {"texts": texts})


def test_a_code_is_read_back_as_its_text_and_64_come_in_the_order_of_theirs(client):
    links = [f"{LINK}{number}" for number in range(64)]

    answers = [*(ask(client, text) for text in TEXTS), ask(client, *links)]

    for answer in answers:
        assert (answer.status_code, answer.content_type) == (200, "application/json")
        assert answer.headers["Cache-Control"] == "no-store"
    codes = [code for answer in answers for code in answer.get_json()["codes"]]
    assert read_codes(list(map(picture_of, codes))) == [*TEXTS, *links]


def test_a_code_is_dark_on_light_in_the_fewest_modules_and_little_svg(client):
    link = LINK + 32 * "a"

    [code] = ask(client, link).get_json()["codes"]

    side = segno.make_qr(link, error="m").symbol_size()[0]
    assert re.fullmatch(
        rf'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}">'
        rf'<path fill="#fff" d="M0 0h{side}v{side}h-{side}z"/>'
        r'<path stroke="#000" d="[Mmh0-9. -]+"/></svg>',
        code,
    )
    assert len(code) < 4_000


@pytest.mark.parametrize(
    ("texts", "index", "detail"),
    [
        ([], None, "texts: must have 1 to 64 elements"),
        (["a"] * 65, None, "texts: must have 1 to 64 elements"),
        ("a", None, "texts: must be an array"),
        (["a", ""], 1, "texts[1]: must have 1 to 1024 characters"),
        (["a" * 1025], 0, "texts[0]: must have 1 to 1024 characters"),
        (["a", "😀" * 1024], 1, "texts[1]: has more bytes than fit into a QR code"),
        ([5], 0, "texts[0]: must be a string"),
        (["é" * 1024] * 7, None, "texts: must have at most 12288 bytes in all"),
        (["a" * 1024] * 64, None, "texts: must have at most 12288 bytes in all"),
    ],
)
def test_invalid_texts_are_refused_in_one_line(client, texts, index, detail):
    answer = post(client, "/web/qr", {"texts": texts})

    assert refusal(answer) == (400, "invalid_request", index)
    assert answer.get_json()["detail"] == detail


@pytest.mark.parametrize(
    "body", [{"texts": [LINK + MARK]}, {"text": [MARK]}, {MARK: MARK}]
)
def test_no_log_and_no_refusal_tells_the_text(client, capfd, caplog, body):
    caplog.set_level(logging.DEBUG)

    answer = post(client, "/web/qr", body)

    logged = capfd.readouterr().err
    assert '"route":"/web/qr"' in logged
    said = [logged, caplog.text, str(answer.headers)]
    for each in said if answer.status_code == 200 else [*said, answer.text]:
        assert_no_trace(each.encode())


def test_a_client_prints_one_batch_at_a_time_and_others_find_a_place(app, monkeypatch):
    has_begun, may_end = threading.Semaphore(0), threading.Event()
    make_qr = segno.make_qr

    def make_slowly(text, **options):
        if len(text) > 1:
            has_begun.release()
            assert may_end.wait(30)
        return make_qr(text, **options)

    def ask_as(number, *texts):
        client = app.test_client()
        client.environ_base["REMOTE_ADDR"] = f"192.0.2.{number}"
        return ask(client, *texts)

    monkeypatch.setattr("deeds.page.qr_codes.segno.make_qr", make_slowly)
    with ThreadPoolExecutor(max_workers=4) as pool:
        slow = [pool.submit(ask_as, 1, "😀" * 1024)]
        assert has_begun.acquire(timeout=30)
        same, other = ask_as(1, "a"), ask_as(2, "a")
        slow += [pool.submit(ask_as, number, "bb") for number in (3, 4)]
        assert all(has_begun.acquire(timeout=30) for _ in slow[1:])
        slow.append(pool.submit(ask_as, 6, "bb"))
        assert has_begun.acquire(timeout=30)
        seventh = ask_as(7, "a")
        may_end.set()

    for refused in (same, seventh):
        assert refusal(refused) == (503, "overloaded", None)
        assert refused.headers["Retry-After"] == "1"
    assert other.status_code == 200
    # The places are given back when a text does not fit.
    assert [answer.result().status_code for answer in slow] == [400, 200, 200, 200]
    assert [ask_as(number, "a").status_code for number in (1, 2, 7)] == [200, 200, 200]


def test_after_each_code_other_threads_run_four_times_as_long(client, monkeypatch):
    pauses = []
    clock = SimpleNamespace(
        thread_time=count().__next__, monotonic=lambda: 0, sleep=pauses.append
    )
    monkeypatch.setattr("deeds.page.qr_codes.time", clock)

    ask(client, "a", "b")
    ask(client, "c")

    # The clock stands still: the second waits for the first, whoever asked for that.
    assert pauses == [4, 8, 12]


def test_every_code_counts_where_codes_are_limited(settings, open_app):
    limited = replace(settings, rate_limits=parse_rate_limits("qr=5/day"))
    client = open_app(limited).test_client()

    statuses = [ask(client, *texts).status_code for texts in ["ab", "ab", "abc", "a"]]

    # A client that is below its limit is served, whatever it asks.
    assert statuses == [200, 200, 200, 429]
