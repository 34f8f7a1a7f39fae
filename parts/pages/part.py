"""The pages part. The interface is complete without it."""

import logging
from collections.abc import Iterator

from deeds.part import Finding, Ledger, Part
from parts.pages.pages import register
from parts.pages.static_files import READER, has_reader

_MISSING = (
    "door mode needs a browser that reads QR codes itself: the reader was not fetched"
    " from npm (npm ci --ignore-scripts --prefix parts/pages, before an installation)"
)

_log = logging.getLogger("deeds")


def check_start(_ledger: Ledger) -> None:
    """Warn if the QR code reader was not fetched."""
    if not has_reader(READER):
        _log.warning(_MISSING, extra={"event": "no_qr_reader"})


def examine(_ledger: Ledger) -> Iterator[Finding]:
    """Yield a finding on the QR code reader, for browsers that lack their own."""
    if has_reader(READER):
        yield Finding("ok", "QR reader", "door mode works in every browser")
    else:
        yield Finding("unknown", "QR reader", _MISSING)


PART = Part(
    "pages",
    register,
    limit_names=("qr",),
    check_start=check_start,
    examine=examine,
)
