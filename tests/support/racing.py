"""Lets many clients send at the same moment: to an app of this process, or to a real gunicorn."""

import http.client
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

WAIT_SECONDS_MAX = 60


@contextmanager
def client_of_app(app):
    """Yield a function that sends a body to the app and returns status and JSON."""
    client = app.test_client()

    def send(path, body):
        answer = client.post(path, json=body)
        return answer.status_code, answer.get_json()

    yield send


@contextmanager
def client_of_port(port, headers=None):
    """Yield a function that sends a body, with these headers, over one connection opened before."""
    headers = {"Content-Type": "application/json"} | (headers or {})
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_SECONDS_MAX)) as opened:
        opened.connect()

        def send(path, body):
            opened.request("POST", path, json.dumps(body), headers)
            answer = opened.getresponse()
            return answer.status, json.load(answer)

        yield send


class Racers:
    """As many clients as are wanted, each in a thread of its own."""

    def __init__(self, open_client):
        self._open_client = open_client

    def send(self, path, body):
        with self._open_client() as send:
            return send(path, body)

    def swap_at_once(self, swaps):
        """Send all swaps at the same moment; return status, code and index of each answer."""
        start = threading.Barrier(len(swaps))

        def run(swap):
            with self._open_client() as send:
                start.wait(WAIT_SECONDS_MAX)
                status, answer = send("/v1/swap", {"inputs": swap[0], "outputs": swap[1]})
            return status, answer.get("code"), answer.get("index")

        with ThreadPoolExecutor(max_workers=len(swaps)) as pool:
            return list(pool.map(run, swaps))

    def mint(self, *outputs):
        status, answer = self.send("/v1/mint", {"outputs": outputs})
        assert status == 200, answer
        return answer["itemId"]

    def check(self, outputs):
        status, answer = self.send("/v1/check", {"outputs": outputs})
        assert status == 200, answer
        return answer["states"]
