"""Lets many clients send at the same moment.

To an app of this process, or to a real gunicorn.
"""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial

from tests.support.requests import post

WAIT_SECONDS_MAX = 60


def at_once(calls):
    """Make all calls at the same moment, each in a thread of its own.

    Return what they return.
    """
    start = threading.Barrier(len(calls))

    def run(call):
        start.wait(WAIT_SECONDS_MAX)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


@contextmanager
def client_of_app(app):
    """Yield a function that sends a body, or asks for what is there.

    Returns status and JSON.
    """
    client = app.test_client()

    def send(path, body=None, key=None):
        answer = post(client, path, body, key) if body else client.get(path)
        return answer.status_code, answer.get_json()

    yield send


@contextmanager
def client_of_port(port, headers=None):
    """Yield a function that sends requests over one open connection."""
    headers = {"Content-Type": "application/json"} | (headers or {})
    with closing(
        http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS_MAX)
    ) as opened:
        opened.connect()

        def send(path, body=None, key=None):
            keyed = headers if key is None else headers | {"Idempotency-Key": key}
            opened.request(
                "POST" if body else "GET", path, body and json.dumps(body), keyed
            )
            answer = opened.getresponse()
            return answer.status, json.load(answer)

        yield send


class Racers:
    """As many clients as are wanted, each in a thread of its own."""

    def __init__(self, open_client):
        self._open_client = open_client

    def send(self, path, body=None):
        with self._open_client() as send:
            return send(path, body)

    def send_at_once(self, requests):
        """Send all requests at the same moment.

        Return status and JSON of each answer.
        """
        with ExitStack() as stack:
            senders = [stack.enter_context(self._open_client()) for _ in requests]
            return at_once(
                [
                    partial(send, *each)
                    for send, each in zip(senders, requests, strict=True)
                ]
            )

    def swap_at_once(self, swaps):
        """Send all swaps at the same moment.

        Return status, code and index of each answer.
        """
        bodies = [{"inputs": inputs, "outputs": outputs} for inputs, outputs in swaps]
        answers = self.send_at_once([("/v1/swap", body) for body in bodies])
        return [
            (status, answer.get("code"), answer.get("index"))
            for status, answer in answers
        ]

    def mint(self, *outputs):
        status, answer = self.send("/v1/mint", {"outputs": outputs})
        assert status == 200, answer
        return answer["itemId"]

    def check(self, outputs):
        status, answer = self.send("/v1/check", {"outputs": outputs})
        assert status == 200, answer
        return answer["states"]
