"""Where metrics are served: the setting DEEDS_METRICS. Must import no library."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from deeds.domain.errors import StartError

_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):([0-9]{1,5})")
_PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class MetricsPlace:
    """Nowhere, at /metrics beside everything else, or on an `address` of their own.

    Nowhere unless asked for: how much a mint is used, and how often in vain, is nobody's business,
    and a proxy that passes everything on would pass this on too.
    """

    is_on: bool = False
    address: str | None = None

    @property
    def port(self) -> int | None:
        """Return the port of the address, or None where metrics have none of their own."""
        return None if self.address is None else int(self.address.rpartition(":")[2])


def read_metrics_place(environ: Mapping[str, str]) -> MetricsPlace:
    """Return where metrics are served.

    Raises:
        StartError: DEEDS_METRICS is odd.
    """
    text = environ.get("DEEDS_METRICS") or "off"
    if text in {"off", "on"}:
        return MetricsPlace(is_on=text == "on")
    match = _ADDRESS.fullmatch(text)
    if match is None or not 1 <= int(match[2]) <= _PORT_MAX:
        raise StartError("DEEDS_METRICS must be off, on, or an address such as 127.0.0.1:9464")
    return MetricsPlace(is_on=True, address=text)
