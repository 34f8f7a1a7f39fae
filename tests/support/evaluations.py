"""Notes or holds the evaluations of argon2-cffi, which go on all the same."""

import threading
from concurrent.futures import ThreadPoolExecutor

import deeds.domain.hashing

WAIT_S = 30


class HashCosts(list[str]):
    """The cost of each evaluation, in the order in which they begin."""

    # Called once, before the next evaluation.
    meanwhile = None


class HeldHashes:
    """Within its block the evaluations of threads wait, for a test to look; then all go on."""

    def __init__(self, monkeypatch):
        self._evaluate = deeds.domain.hashing.hash_secret_raw
        self._begun = threading.Event()
        self._go_on = threading.Event()
        self._pool = ThreadPoolExecutor(max_workers=4)
        monkeypatch.setattr(deeds.domain.hashing, "hash_secret_raw", self)

    def __call__(self, *args, **kwargs):
        # In the test's own thread a request hashes strong secrets alone.
        if threading.current_thread() is not threading.main_thread():
            self._begun.set()
            assert self._go_on.wait(WAIT_S)
        return self._evaluate(*args, **kwargs)

    def start(self, function, *args):
        """Call the function in a thread and return once it hashes."""
        future = self._pool.submit(function, *args)
        assert self._begun.wait(WAIT_S)
        return future

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._go_on.set()
        self._pool.shutdown()
