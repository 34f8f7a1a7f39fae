"""What pages have for others. Without them the interface is whole."""

from collections.abc import Iterator

from deeds.part import Finding, Ledger, Part
from parts.pages.pages import register
from parts.pages.static_files import READER, has_reader


def examine(_ledger: Ledger) -> Iterator[Finding]:
    """Yield whether the service has what reads QR codes, which browsers may lack."""
    if has_reader(READER):
        yield Finding("ok", "QR reader", "door mode works in every browser")
    else:
        yield Finding(
            "unknown",
            "QR reader",
            "door mode needs a browser that reads QR codes itself; for all others run:"
            f" npm ci --prefix {READER.parents[1]} --ignore-scripts",
        )


PART = Part("pages", register, limit_names=("qr",), examine=examine)
