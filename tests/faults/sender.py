"""Sends requests to a service that comes and goes."""

import http.client
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.waiting import WAIT_SECONDS_MAX, wait_until

# As many as one request may name.
CHECKED_AT_ONCE = 256

RETRY_SECONDS = 0.01


class NotAnsweredError(Exception):
    """The service said 503: it may be back soon."""


# What a client meets whose service is gone, or cannot reach its database.
CUT_OFF = (OSError, http.client.HTTPException, ValueError, NotAnsweredError)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer."""

    status: int
    answer: Any
    is_replay: bool


class Sender:
    """One client's connection, opened anew whenever it broke."""

    def __init__(self, find_port: Callable[[], int], stop: threading.Event) -> None:
        """Take a function that waits until there is a service and returns its port."""
        self._find_port = find_port
        self.stop = stop
        self._connection: http.client.HTTPConnection | None = None

    def send(self, path: str, body: Any, key: str | None = None) -> Said:
        """Send once.

        Raises:
            CUT_OFF: whether the request was carried out is not known.
        """
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        try:
            connection = self._connected()
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except CUT_OFF:
            self.close()
            raise
        if response.status == 503:
            raise NotAnsweredError
        is_replay = response.headers.get("Idempotency-Replayed") == "true"
        return Said(response.status, answer, is_replay)

    def send_until_answered(self, path: str, body: Any, key: str | None = None) -> tuple[Said, int]:
        """Send the same until there is an answer; return it and how many tries it took."""
        answers: list[Said] = []
        tries_count = 0

        def is_answered() -> bool:
            nonlocal tries_count
            tries_count += 1
            try:
                answers.append(self.send(path, body, key))
            except CUT_OFF:
                threading.Event().wait(RETRY_SECONDS)
            return bool(answers)

        wait_until(is_answered, WAIT_SECONDS_MAX)
        return answers[0], tries_count

    def check(self, raws: list[str]) -> list[str]:
        """Return the state of each raw output."""
        states: list[str] = []
        for start in range(0, len(raws), CHECKED_AT_ONCE):
            body = {"outputs": raws[start : start + CHECKED_AT_ONCE]}
            said, _ = self.send_until_answered("/v1/check", body)
            assert said.status == 200, said
            states += said.answer["states"]
        return states

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> http.client.HTTPConnection:
        if self._connection is None:
            port = self._find_port()
            self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        return self._connection
