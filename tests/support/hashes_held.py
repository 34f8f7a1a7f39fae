"""Holds evaluations of ordinary secrets up, so that a test can look while they are under way."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import deeds.domain.hashing

WAIT_S = 30


class HeldHashes:
    """Within its block every evaluation waits; at its end all go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._evaluate = deeds.domain.hashing.hash_secret_raw
        self._begun = threading.Event()
        self._go_on = threading.Event()
        self._pool = ThreadPoolExecutor(max_workers=4)
        monkeypatch.setattr(deeds.domain.hashing, "hash_secret_raw", self)

    def __call__(self, *args: Any, **kwargs: Any) -> bytes:
        """Take the place of the function that evaluates."""
        self._begun.set()
        assert self._go_on.wait(WAIT_S)
        return self._evaluate(*args, **kwargs)

    def start(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Call the function in a thread and return once it hashes."""
        future = self._pool.submit(function, *args)
        assert self._begun.wait(WAIT_S)
        return future

    def __enter__(self) -> "HeldHashes":
        return self

    def __exit__(self, *_: object) -> None:
        self._go_on.set()
        self._pool.shutdown()
