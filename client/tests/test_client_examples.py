"""The examples, each run as a program whose files are in a folder of its own."""

import csv
import io
import json
import re
import runpy
import signal
import sys
from contextlib import suppress
from itertools import count
from unittest.mock import patch

import httpx
import pytest
from client_walk import FORKS, Mortal
from werkzeug.serving import make_server

from deeds_client import Wallet, read_claims, read_offer
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


def offer_of(page, deeds):
    """Return the id of the offer on a page of the shop."""
    return read_offer(re.search('href="([^"]+)"', page)[1], deeds.base_url)


def test_an_order_waits_for_the_service_and_is_served_once_it_is_paid(
    run, deeds, customer
):
    down = httpx.ConnectError("")
    with patch.object(httpx.HTTPTransport, "handle_request", side_effect=down):
        shop = run("shop.py")
        visitor = shop["app"].test_client()
        order = visitor.post("/buy").location
        answer = visitor.get(order)
    assert answer.status_code == 503
    assert "Payments are down at the moment." in answer.text

    with shop["deeds"], shop["wallet"]:
        page = visitor.get(order).text
        assert "La la la" not in page
        customer.complete(deeds.offer(offer_of(page, deeds)))
        assert "La la la" in visitor.get(order).text
        assert shop["app"].test_client().get(order).status_code == 404


@pytest.fixture
def lives_on(run):
    """Let a shop that dies at a step live; return whether what is done lived on."""

    def live(dies_at, told):
        mortal = Mortal(dies_at)
        # Its start, which goes on with the orders of those before, is survived.
        mortal.count = -sys.maxsize
        mortal.watch()
        server = make_server("127.0.0.1", 0, run("shop.py")["app"])
        mortal.count = 0
        told.send(f"http://127.0.0.1:{server.port}")
        server.serve_forever()

    def lives_on(dies_at, act):
        address, told = FORKS.Pipe(duplex=False)
        process = FORKS.Process(target=live, args=(dies_at, told), daemon=True)
        process.start()
        told.close()
        with suppress(httpx.TransportError):
            act(address.recv())
            process.kill()
            return True
        process.join()
        assert process.exitcode == -signal.SIGKILL
        return False

    return lives_on


@pytest.mark.slow
def test_a_shop_that_is_killed_anywhere_knows_what_it_has_asked_for(
    lives_on, run, deeds, customer
):
    paid = set()

    def buy_twice(shop):
        # An answer that is only late would be taken for a death.
        visitor = {"cookies": {"visitor": "Cay"}, "timeout": 60}
        with httpx.Client(base_url=shop, **visitor) as browser:
            for _ in range(2):
                order = browser.post("/buy").headers["Location"]
                offer_id = offer_of(browser.get(order).text, deeds)
                customer.complete(deeds.offer(offer_id))
                paid.add(offer_id)
                assert "La la la" in browser.get(order).text

    kills_count = next(step for step in count() if lives_on(step + 1, buy_twice))
    assert kills_count >= 30

    shop = run("shop.py")
    with shop["deeds"], shop["wallet"] as till:
        visitor = shop["app"].test_client()
        visitor.set_cookie("visitor", "Cay")
        orders = [order for (order,) in shop["query"]("SELECT id FROM orders")]
        served = {
            till.find(order).offer_id
            for order in orders
            if "La la la" in visitor.get(f"/orders/{order}").text
        }
        assert served == paid
        assert sorted(each.reference for each in till.history()) == sorted(orders)
        assert [each.held for each in till.balance().values()] == [2 * len(paid)]


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
    first, second, third = (tmp_path / f"{count}.csv" for count in range(3))
    with first.open("w", newline="", encoding="utf-8") as lines:
        csv.writer(lines).writerows([["name"], *([each["written"]] for each in CELLS)])

    run("vouchers.py", first, second)
    program = run("vouchers.py", second, third)

    names, _ = program["read_names"](program["decode"](second.read_bytes()))
    assert names == [each["cell"] for each in CELLS]
    with third.open(newline="", encoding="utf-8-sig") as lines:
        written = [row["name"] for row in csv.DictReader(lines)]
    assert written == [each["written"] for each in CELLS]


# As Excel in English and German, LibreOffice and text editors save it.
SAVED = {
    "English": ("Name,Table\r\nJörg €,4\r\n,\r\nAnna,\r\n", "cp1252", ","),
    "German": ("Tisch;Name\r\n4;Jörg €\r\n;\r\n;Anna\r\n", "cp1252", ";"),
    "German CSV UTF-8": ("Name;x, y\r\nJörg €;4\r\nAnna;\r\n", "utf-8-sig", ";"),
    "Unicode text": ("name\tx\r\nJörg €\t4\r\nAnna\t\r\n\r\n", "utf-16", "\t"),
    "big-endian": ("\ufeffname\tx\nJörg €\t\nAnna\t", "utf-16-be", "\t"),
    "its separator": ("sep=|\r\nname|x\r\nJörg €|\r\nAnna|\r\n", "utf-8", "|"),
    "an editor": ('\n\nname\n"Jörg €"\n\n  \nAnna', "utf-8", ","),
}


@pytest.mark.parametrize(
    ("text", "encoding", "delimiter"), SAVED.values(), ids=SAVED.keys()
)
def test_the_script_reads_what_spreadsheets_save(vouchers, text, encoding, delimiter):
    rows = vouchers(text.encode(encoding), delimiter)

    assert [row["name"] for row in rows] == ["Jörg €", "Anna"]
    assert all("#+1." in row["link"] for row in rows)


def test_the_script_writes_one_column_as_the_language_of_the_machine_does(
    vouchers, monkeypatch
):
    monkeypatch.setattr("locale.localeconv", lambda: {"decimal_point": ","})

    assert [row["name"] for row in vouchers(b"name\nAnna", ";")] == ["Anna"]


@pytest.mark.parametrize(
    "content",
    [b"", b"name\r\n;\r\n", b"guest\nAnna", b"name,x\n,4", b"name\n\x81", b"\xff\xfea"],
)
def test_the_script_refuses_what_is_no_list_of_names(vouchers, tmp_path, content):
    with pytest.raises(SystemExit) as caught:
        vouchers(content)

    assert re.fullmatch(r"[A-Z].*\.", caught.value.code)
    assert not (tmp_path / "links.csv").exists()
