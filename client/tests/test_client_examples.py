"""The examples, each run as a program whose wallet is in a folder of its own."""

import csv
import re
import runpy
import sys

import pytest

from deeds_client import Wallet
from deeds_client.links import read_claims, read_offer
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
    return run


def test_the_shop_serves_what_was_paid_and_nothing_before(
    run, deeds, tmp_path, monkeypatch
):
    with Wallet(tmp_path / "customer", deeds) as customer:
        item_id = customer.mint([5])["itemId"]
        monkeypatch.setenv("DEEDS_ITEM", item_id)
        shop = run("shop.py")
        with shop["deeds"], shop["wallet"] as till:
            visitor = shop["app"].test_client()
            order = visitor.post("/buy").location
            page = visitor.get(order).text
            assert "La la la" not in page

            offer_id = read_offer(re.search('href="([^"]+)"', page)[1], deeds.base_url)
            customer.complete(deeds.offer(offer_id))
            assert "La la la" in visitor.get(order).text
            assert till.balance()[item_id] == {"held": 2}
        assert customer.balance()[item_id]["held"] == 3


def test_the_script_gives_each_name_a_voucher_and_goes_on_where_it_was(
    run, deeds, tmp_path
):
    names = [f"Guest {number}, of many" for number in range(1, 11)]
    guests, links = tmp_path / "guests.csv", tmp_path / "links.csv"
    guests.write_text("\n".join(["name", *(f'"{name}"' for name in names)]))

    run("vouchers.py", guests, links)
    rows = list(csv.DictReader(links.read_text().splitlines()))
    [output] = read_claims(rows[2]["link"], deeds.base_url)
    with Wallet(tmp_path / "guest", deeds) as guest:
        guest.claim(output)
    with Wallet(tmp_path / "example.wallet", deeds) as issuer:
        issuer.check()
    run("vouchers.py", guests, links)
    again = list(csv.DictReader(links.read_text().splitlines()))

    assert [row["name"] for row in rows] == names
    assert links.stat().st_mode & 0o777 == 0o600
    rows[2]["link"] = "claimed"
    assert again == rows
