"""The examples, as their users run them."""

import csv
import os
import re
import subprocess
import sys
import urllib.request

import pytest

from deeds_client import Deeds, Wallet, WalletError
from deeds_client.links import read_claims, read_offer
from tests.support.serving import REPOSITORY, running_service
from tests.support.waiting import wait_until

EXAMPLES = REPOSITORY / "client" / "examples"
LISTENING = re.compile(r"Running on (http://127\.0\.0\.1:\d+)")


@pytest.fixture(scope="module")
def deeds(tmp_path_factory):
    directory = tmp_path_factory.mktemp("service")
    with running_service(directory, DEEDS_MAX_ARRAY="4") as service, Deeds(service.url) as deeds:
        yield deeds


@pytest.fixture
def environment(deeds, tmp_path):
    """The environment of an example whose wallet is in `tmp_path`."""
    ours = {"DEEDS_URL": deeds.base_url, "DEEDS_WALLET": str(tmp_path / "example.wallet")}
    return os.environ | ours | {"PYTHONPATH": str(REPOSITORY / "client"), "PYTHONUNBUFFERED": "1"}


def test_the_shop_serves_what_was_paid_and_nothing_before(deeds, environment, tmp_path):
    with Wallet(tmp_path / "customer", deeds) as customer:
        item_id = customer.mint([5])["itemId"]
        command = [
            sys.executable,
            "-m",
            "flask",
            "--app",
            EXAMPLES / "shop.py",
            "run",
            "--port",
            "0",
        ]
        log = tmp_path / "log"
        with (
            log.open("wb") as output,
            subprocess.Popen(
                command, env=environment | {"DEEDS_ITEM": item_id}, stdout=output, stderr=output
            ) as shop,
        ):
            try:
                wait_until(lambda: LISTENING.search(log.read_text()))
                url = LISTENING.search(log.read_text())[1]
                with urllib.request.urlopen(f"{url}/buy", data=b"") as answer:
                    order, page = answer.url, answer.read().decode()
                assert "La la la" not in page

                offer_id = read_offer(re.search('href="([^"]+)"', page)[1], deeds.base_url)
                customer.complete(deeds.offer(offer_id))
                with urllib.request.urlopen(order) as answer:
                    assert "La la la" in answer.read().decode()
            finally:
                shop.terminate()
        assert customer.balance()[item_id]["free"] == 3
    with Wallet(environment["DEEDS_WALLET"], deeds) as till:
        assert till.balance()[item_id] == {"free": 2}


def test_the_script_gives_each_name_a_voucher_and_goes_on_where_it_was(
    deeds, environment, tmp_path
):
    names = [f"Guest {number}, of many" for number in range(1, 11)]
    guests, links = tmp_path / "guests.csv", tmp_path / "links.csv"
    with guests.open("w", newline="") as lines:
        csv.writer(lines).writerows([["name"], *([name] for name in names)])

    def issue():
        command = [sys.executable, EXAMPLES / "vouchers.py", guests, links]
        subprocess.run(command, env=environment, check=True)
        with links.open(newline="") as lines:
            return list(csv.DictReader(lines))

    rows = issue()
    assert [row["name"] for row in rows] == names
    assert links.stat().st_mode & 0o777 == 0o600
    with Wallet(tmp_path / "guest", deeds) as guest:
        ((output, _unit),) = read_claims(rows[2]["link"], deeds.base_url)
        guest.claim(output)
        assert deeds.item(output.item_id).total == len(names)
    with Wallet(environment["DEEDS_WALLET"], deeds) as issuer:
        issuer.check()
        with pytest.raises(WalletError):
            issuer.send(output.item_id, 1)

    claimed = {**rows[2], "link": "claimed"}
    assert issue() == [*rows[:2], claimed, *rows[3:]]
