"""Issue a voucher to each name of a CSV file, and write a CSV file of their links.

    python vouchers.py guests.csv links.csv --title "Dinner for two"

`guests.csv` has a column `name`, and is as spreadsheets write it: with commas,
semicolons or tabs, in UTF-8, UTF-16 or Windows-1252. Empty rows get no voucher. If it
was interrupted, run it again: it continues with the same vouchers. The links are like
cash, and the wallet can take back those that nobody has claimed. `DEEDS_MINT_TOKEN` is
the mint token, if the service requires one.
"""

import argparse
import codecs
import csv
import locale
import os
import re
from contextlib import suppress
from io import StringIO
from pathlib import Path
from tempfile import mkstemp

from deeds_client import Deeds, DeedsError, Wallet

# A spreadsheet would execute a cell like this. An apostrophe before it makes it a text.
FORMULA = re.compile(r"'*(?:[\t\r]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")


def main() -> None:
    """Read the names, issue the vouchers, write the links."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("guests", type=Path)
    parser.add_argument("links", type=Path)
    parser.add_argument("--title", default="Voucher")
    arguments = parser.parse_args()
    names, delimiter = read_names(decode(arguments.guests.read_bytes()))
    file = arguments.links.resolve()
    # With other names, links would go to other guests.
    if file.exists() and read_names(decode(file.read_bytes()))[0] != names:
        raise SystemExit(f"{file} is of other names. Write another file.")

    # Open the file first: nothing is minted if the links cannot be written. Anybody who
    # can read the file can claim the vouchers, so its mode is 0600.
    handle, part = mkstemp(".part", f"{file.name}.", file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8-sig", newline="") as lines:
            links = issue(len(names), str(file), arguments.title)
            writer = csv.writer(lines, delimiter=delimiter)
            writer.writerow(["name", "link"])
            for number, name in enumerate(names, start=1):
                cell = f"'{name}" if FORMULA.match(name) else name
                writer.writerow([cell, links.get(number, "claimed")])
        Path(part).replace(file)
    finally:
        Path(part).unlink(missing_ok=True)


def decode(content: bytes) -> str:
    """Return the text of a file.

    Excel writes UTF-16 and UTF-8 with a byte order mark, else Windows-1252.
    """
    is_utf_16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ["utf-16"] if is_utf_16 else ["utf-8-sig", "cp1252"]:
        with suppress(UnicodeDecodeError):
            return content.decode(encoding)
    raise SystemExit("The CSV file is not in UTF-8, UTF-16 or Windows-1252.")


def read_names(text: str) -> tuple[list[str], str]:
    """Return the cells of the column `name`, and the delimiter of the columns."""
    # Some spreadsheets name the delimiter in the first line.
    named = re.match(r"sep=(.)\r?\n", text)
    delimiters = named[1] if named else f"{usual_delimiter()};\t,"
    for delimiter in delimiters:
        lines = StringIO(text[named.end() :] if named else text, newline="")
        rows = csv.reader(lines, delimiter=delimiter)
        filled = [row for row in rows if re.search(r"[^\s;,]", "".join(row))]
        columns = [cell.strip().lower() for cell in filled[0]] if filled else []
        if "name" in columns and filled[1:]:
            column = columns.index("name")
            return [name_in(row[column:]) for row in filled[1:]], delimiter
    raise SystemExit("The CSV file needs a column `name`, and a line for each.")


def usual_delimiter() -> str:
    """Return the delimiter that spreadsheets write in this machine's language."""
    with suppress(locale.Error):
        locale.setlocale(locale.LC_NUMERIC, "")
    return ";" if locale.localeconv()["decimal_point"] == "," else ","


def name_in(cells: list[str]) -> str:
    """Return the name, without the apostrophe of one that would be a formula."""
    name = cells[0] if cells else ""
    if not name.strip():
        raise SystemExit("A row of the CSV file has no name.")
    return name[1:] if name[0] == "'" and FORMULA.match(name) else name


def issue(count: int, job: str, title: str) -> dict[int | None, str]:
    """Issue the vouchers, and return the links that are not claimed, by number."""
    url = os.environ.get("DEEDS_URL", "http://127.0.0.1:8000")
    token = os.environ.get("DEEDS_MINT_TOKEN")
    with (
        Deeds(url, mint_token=token) as deeds,
        Wallet(os.environ.get("DEEDS_WALLET", "vouchers.wallet"), deeds) as wallet,
    ):
        # Learn which vouchers were claimed since the last run.
        wallet.sync()
        vouchers = wallet.issue(count, reference=job, metadata={"name": title})
        return {voucher.output.number: voucher.link for voucher in vouchers}


if __name__ == "__main__":
    try:
        main()
    except (DeedsError, OSError, csv.Error) as error:
        raise SystemExit(str(error)) from None
