"""What counts the work of the service."""

from typing import Protocol

from deeds.domain.model import SecretClass


class Measures(Protocol):
    """Receives figures; any thread may call it, and no call may fail.

    No argument may be anything but a word of a short list or a number: never an id, an address or a
    path. `deeds.server.metrics` counts for Prometheus; the methods here do nothing.
    """

    def count_request(self, route: str, method: str, seconds: float) -> None:
        """Count a request of a route and how long it took."""
        return

    def count_operation(self, kind: str, outcome: str) -> None:
        """Count the outcome of a mint, swap, check or read of an item."""
        return

    def count_refusal(self, code: str) -> None:
        """Count an answer that is a problem."""
        return

    def count_hashes(self, secret_class: SecretClass, count: int, seconds: float) -> None:
        """Count evaluations and the time they took together."""
        return

    def set_queue(self, requests_count: int, hashes_count: int) -> None:
        """Set how many requests and evaluations the pool has admitted."""
        return

    def count_retry(self, reason: str) -> None:
        """Count a transaction that is tried again."""
        return


class NoMeasures(Measures):
    """Counts nothing."""
