"""The examples, each run as a program whose files are in a folder of its own."""

import csv
import io
import json
import runpy
import sys
from unittest.mock import patch

import httpx
import pytest

from deeds_client import Wallet, read_claims
from tests.support.serving import REPOSITORY


@pytest.fixture
def run(url, tmp_path, monkeypatch):
    def run(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        return runpy.run_path(
            REPOSITORY / "client/examples" / name, run_name="__main__"
        )

    monkeypatch.setenv("DEEDS_URL", url)
    monkeypatch.setenv("DEEDS_WALLET", str(tmp_path / "example.wallet"))
    monkeypatch.setenv("SHOP_ORDERS", str(tmp_path / "orders.sqlite3"))
    return run


@pytest.fixture
def customer(deeds, tmp_path, monkeypatch):
    with Wallet(tmp_path / "customer", deeds) as customer:
        monkeypatch.setenv("DEEDS_ITEM", customer.mint([1000]).item_id)
        yield customer


def test_an_order_outlives_service_and_shop_and_is_served_once_it_is_paid(
    run, deeds, customer
):
    down = httpx.ConnectError("")
    with patch.object(httpx.HTTPTransport, "handle_request", side_effect=down):
        shop = run("shop.py")
        visitor = shop["app"].test_client()
        visitor.set_cookie("visitor", "Cay")
        order = visitor.post("/buy").location
        answer = visitor.get(order)
    shop["wallet"].close()
    assert answer.status_code == 503
    assert "Payments are down at the moment." in answer.text

    # The next run of the shop requests the payment before a page is loaded.
    shop = run("shop.py")
    with shop["deeds"], shop["wallet"] as till:
        [asked] = till.history()
        visitor = shop["app"].test_client()
        assert visitor.get(order).status_code == 404
        visitor.set_cookie("visitor", "Cay")
        page = visitor.get(order).text
        assert ("La la la" in page, asked.offer_id in page) == (False, True)
        customer.complete(deeds.offer(asked.offer_id))
        assert "La la la" in visitor.get(order).text
        assert len(till.history()) == 1


CELLS = json.loads((REPOSITORY / "tests/vectors/csv.json").read_text())


@pytest.fixture
def vouchers(run, tmp_path):
    """A function that runs the script, and returns the text and rows that it writes."""
    guests, links = tmp_path / "guests.csv", tmp_path / "links.csv"

    def vouchers(content, delimiter=","):
        guests.write_bytes(content)
        run("vouchers.py", guests, links)
        text = links.read_bytes().decode("utf-8")
        assert text.startswith("\ufeffname")
        lines = io.StringIO(text[1:], newline="")
        return [*csv.DictReader(lines, delimiter=delimiter)]

    return vouchers


def test_the_script_gives_each_name_a_voucher_and_goes_on_where_it_was(
    vouchers, deeds, tmp_path
):
    names = [f"Guest {number}, of many" for number in range(1, 11)]
    content = "\n".join(["name", *(f'"{name}"' for name in names)]).encode()

    rows = vouchers(content)
    [output] = read_claims(rows[2]["link"], deeds.base_url)
    with Wallet(tmp_path / "guest", deeds) as guest:
        guest.claim(output)
    with Wallet(tmp_path / "example.wallet", deeds) as issuer:
        issuer.sync()
    again = vouchers(content)

    assert [row["name"] for row in rows] == names
    assert (tmp_path / "links.csv").stat().st_mode & 0o777 == 0o600
    rows[2]["link"] = "claimed"
    assert again == rows
    with pytest.raises(SystemExit, match="is of other names"):
        vouchers(content.replace(b"Guest 3", b"Guest 30"))
    assert not [*tmp_path.glob("*.part")]


def test_the_script_reads_what_it_has_written_and_writes_no_formula(run, tmp_path):
    given, made = tmp_path / "given.csv", tmp_path / "made.csv"
    with given.open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows([["name"], *([each["written"]] for each in CELLS)])

    program = run("vouchers.py", given, made)

    names, _ = program["read_names"](program["decode"](made.read_bytes()))
    assert names == [each["cell"] for each in CELLS]
    with made.open(newline="", encoding="utf-8-sig") as lines:
        written = [row["name"] for row in csv.DictReader(lines)]
    assert written == [each["written"] for each in CELLS]


# As Excel in English and German, LibreOffice and text editors save it.
SAVED = {
    "English": ("Name,Table\r\nJörg €,4\r\n,\r\nAnna,\r\n", "cp1252", ","),
    "German": ("Tisch;Name\r\n4;Jörg €\r\n;\r\n;Anna\r\n", "cp1252", ";"),
    "Unicode text": ("name\tx\r\nJörg €\t4\r\nAnna\t\r\n\r\n", "utf-16", "\t"),
    "an editor": ('\n\nname\n"Jörg €"\n\n  \nAnna', "utf-8", ","),
}


@pytest.mark.parametrize(
    ("text", "encoding", "delimiter"), SAVED.values(), ids=SAVED.keys()
)
def test_the_script_reads_what_spreadsheets_save(vouchers, text, encoding, delimiter):
    rows = vouchers(text.encode(encoding), delimiter)

    assert [row["name"] for row in rows] == ["Jörg €", "Anna"]
    assert all("#+1." in row["link"] for row in rows)
