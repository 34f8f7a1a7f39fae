"""What pages have for others: nothing. Without them the interface is whole."""

import logging

from deeds.part import Ledger, Part
from parts.pages.pages import register
from parts.pages.static_files import has_reader

_log = logging.getLogger("deeds")


def check_start(_ledger: Ledger) -> None:
    """Warn where the reader of QR codes was not fetched."""
    if not has_reader():
        _log.warning(
            "door mode needs a browser that reads QR codes itself: the"
            " reader was not fetched from npm (npm ci --ignore-scripts --prefix"
            " parts/pages, before an installation)",
            extra={"event": "no_qr_reader"},
        )


PART = Part("pages", register, limit_names=("qr",), check_start=check_start)
