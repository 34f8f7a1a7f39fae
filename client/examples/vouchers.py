"""Issue a voucher to each name of a CSV file, and write a CSV file of their links.

    python vouchers.py guests.csv links.csv --title "Dinner for two"

`guests.csv` has a column `name`. Run it again after whatever broke it off: it goes on
with the same vouchers. The links are like cash, and the wallet can take back those that
nobody has claimed. `DEEDS_MINT_TOKEN` is the token of a service that asks for one.
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
        names = [row.get("name") for row in csv.DictReader(lines)]
    if not names or None in names:
        raise SystemExit("The CSV file needs a column `name`, and a line for each.")

    # Nothing is minted where the links could not be written. Whoever can read the file
    # can take the vouchers.
    part = arguments.links.with_name(f"{arguments.links.name}.part")
    part.touch(0o600)
    url = os.environ.get("DEEDS_URL", "http://127.0.0.1:8000")
    token = os.environ.get("DEEDS_MINT_TOKEN")
    with (
        Deeds(url, mint_token=token) as deeds,
        Wallet(os.environ.get("DEEDS_WALLET", "vouchers.wallet"), deeds) as wallet,
    ):
        # What was claimed since the last run is not written again.
        wallet.sync()
        job = str(arguments.links.resolve())
        about = {"name": arguments.title}
        vouchers = wallet.issue(len(names), reference=job, metadata=about)
        links = {voucher.output.number: voucher.link for voucher in vouchers}

    with part.open("w", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines)
        writer.writerow(["name", "link"])
        for number, name in enumerate(names, start=1):
            writer.writerow([name, links.get(number, "claimed")])
    part.replace(arguments.links)


if __name__ == "__main__":
    try:
        main()
    except (DeedsError, OSError) as error:
        raise SystemExit(str(error)) from None
