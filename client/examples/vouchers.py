"""Issue a voucher to each name of a CSV file, and write a CSV file of their links.

    python vouchers.py guests.csv links.csv --title "Dinner for two"

`guests.csv` has a column `name`. Run it again after whatever broke it off: it goes on
with the same vouchers. The links are like cash, and the wallet can take back those that
nobody has claimed.
"""

import argparse
import csv
import os
from pathlib import Path

from deeds_client import Deeds, DeedsError, Wallet


def main() -> None:
    """Read the names, issue the vouchers, write the links."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("guests", type=Path)
    parser.add_argument("links", type=Path)
    parser.add_argument("--title", default="Voucher")
    arguments = parser.parse_args()
    with arguments.guests.open(newline="", encoding="utf-8-sig") as lines:
        names = [row["name"] for row in csv.DictReader(lines)]

    with (
        Deeds(os.environ.get("DEEDS_URL", "http://127.0.0.1:8000")) as deeds,
        Wallet(os.environ.get("DEEDS_WALLET", "vouchers.wallet"), deeds) as wallet,
    ):
        job = str(arguments.links.resolve())
        about = {"name": arguments.title}
        vouchers = wallet.issue(len(names), reference=job, metadata=about)
        links = {voucher.output.number: voucher.link for voucher in vouchers}

    # Whoever can read the file can take the vouchers.
    with open(
        arguments.links, "w", newline="", opener=_private, encoding="utf-8"
    ) as lines:
        writer = csv.writer(lines)
        writer.writerow(["name", "link"])
        for number, name in enumerate(names, start=1):
            writer.writerow([name, links.get(number, "claimed")])


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


if __name__ == "__main__":
    try:
        main()
    except DeedsError as error:
        raise SystemExit(str(error)) from None
