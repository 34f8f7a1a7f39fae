"""What the service counts of its own work, wherever the figures go. Must import no library.

`deeds.server.metrics` counts for Prometheus. No argument here may be anything but a word of a
short list or a number: never an id, an address or a path.
"""

from typing import Protocol

from deeds.domain.records import SecretClass


class Measures(Protocol):
    """Takes figures; any thread may call it, and no call may fail."""

    def count_request(self, route: str, method: str, seconds: float) -> None:
        """Count a request of a route and how long it took."""

    def count_operation(self, kind: str, outcome: str) -> None:
        """Count what came of a mint, swap, check or read of an item."""

    def count_refusal(self, code: str) -> None:
        """Count an answer that is a problem."""

    def count_hashes(self, lane: SecretClass, count: int, seconds: float) -> None:
        """Count evaluations and the time they took together."""

    def set_queue(self, requests_count: int, hashes_count: int) -> None:
        """Tell what is in the lane of ordinary secrets, running or waiting."""

    def count_retry(self, reason: str) -> None:
        """Count a transaction that is tried again."""


class NoMeasures:
    """Counts nothing."""

    def count_request(self, route: str, method: str, seconds: float) -> None:
        """Do nothing."""

    def count_operation(self, kind: str, outcome: str) -> None:
        """Do nothing."""

    def count_refusal(self, code: str) -> None:
        """Do nothing."""

    def count_hashes(self, lane: SecretClass, count: int, seconds: float) -> None:
        """Do nothing."""

    def set_queue(self, requests_count: int, hashes_count: int) -> None:
        """Do nothing."""

    def count_retry(self, reason: str) -> None:
        """Do nothing."""
