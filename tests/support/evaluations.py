"""Stands before argon2-cffi's function, which still evaluates: counts its calls, or holds them."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import deeds.domain.hashing

WAIT_S = 30


class Evaluations:
    """Counts the evaluations by the KiB of memory asked for."""

    def __init__(self, evaluate):
        self._evaluate = evaluate
        self.counts = Counter()
        # Called before each evaluation.
        self.before = lambda: None

    def __call__(self, *args, **kwargs):
        self.counts[kwargs["memory_cost"]] += 1
        self.before()
        return self._evaluate(*args, **kwargs)

    def take(self):
        """Return how many ordinary secrets were evaluated since the last time."""
        strong_kib = deeds.domain.hashing.STRONG_COST.memory_cost_kib
        count = sum(n for kib, n in self.counts.items() if kib != strong_kib)
        self.counts.clear()
        return count


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
