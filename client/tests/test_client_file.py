"""The page's backup file and its rules for merging.

The client does as the page's own code does.
"""

import json
import os
import subprocess
import unicodedata
import uuid
from contextlib import closing, suppress
from copy import deepcopy

import pytest
from playwright.sync_api import expect, sync_playwright

from deeds_client import Deeds, Output, Wallet, file, merging
from deeds_client.errors import WalletFileError
from deeds_client.file import export_wallet, import_wallet, read_records
from deeds_client.records import Store
from deeds_client.values import WRONG_FORM
from tests.page import steps, test_backup
from tests.page.visitor import profile, visiting
from tests.support.needs import chromium_path, require
from tests.support.serving import REPOSITORY, running_service

PASSPHRASE = "Käse & Brot 😀"
# What a wallet knows of an output beside its state, whichever way it keeps it.
FACTS = {
    "itemId",
    "amount",
    "secret",
    "givenAt",
    "collectedAt",
    "number",
    "of",
    "each",
    "note",
}
FACTS |= {"spentElsewhere"}
# States here and in the page. Here they follow from an operation as soon as it is
# known, or is to be sent again; the page notes them when that has ended.
EARLIER = {("coming", "void"), ("leaving", "held"), ("offered", "given")}
# Fields that the client keeps for the page and never reads.
UNUSED = {"outputs.changedAt", "outputs.of", "outputs.each", "operations.links"}
UNUSED |= {f"operations.links.{name}" for name in ("count", "each", "from", "isNext")}
# It derives the states of outputs, and a service would refuse what the others lead to.
LOOSER = {
    "outputs.state",
    "outputs.before",
    "outputs.operation",
    "operations.outputs.state",
}
LOOSER |= {
    "operations.body.outputs.secret",
    "operations.body.expiresIn",
    "operations.offerId",
}
LOOSER |= {"operations.expiresAt", "outputs.number"}


@pytest.fixture(scope="module")
def pages():
    """Files of random wallets of the page, and what the page makes of them.

    See pairs.js.
    """
    require("node 20 or newer")
    command = ["node", "tests/page/js/wallet/pairs.js", "100"]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def visitor(tmp_path_factory):
    """A person at a browser, as in tests/page."""
    require("Chromium")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with (
        running_service(tmp_path_factory.mktemp("web"), WEB_CONCURRENCY="1") as service,
        sync_playwright() as playwright,
        playwright.chromium.launch(
            executable_path=chromium_path(), args=arguments
        ) as browser,
        profile(browser) as context,
        visiting(context, service.url) as visitor,
    ):
        yield visitor


@pytest.fixture(scope="module")
def records(pages):
    return max(
        (pair["merged"] for pair in pages["pairs"]), key=lambda merged: len(str(merged))
    )


def is_read(records):
    try:
        return bool(read_records(records))
    except WRONG_FORM:
        return False


def test_what_the_client_reads_the_page_reads_too(pages):
    read = [it for it in pages["forged"] if is_read(it["records"])]

    assert all(is_read(pair["merged"]) for pair in pages["pairs"])
    assert len(pages["forged"]) > 500
    assert {it["name"] for it in read if not it["isRead"]} <= LOOSER | UNUSED
    assert {it["name"] for it in read if it.get("value") == {}} <= UNUSED


FORGED = {
    "another is sent": lambda swap, _: swap["body"]["outputs"].append("+1.deed_a.b"),
    "less is named": lambda swap, _: swap["inputs"].pop(),
    "no output is known": lambda _, records: records.update(outputs=[]),
    "an output under another key": lambda _, records: records["outputs"][0].update(
        secret="x"
    ),
    "no object of metadata": lambda _, records: records["operations"][0]["body"].update(
        metadata="name"
    ),
    "no key of a request": lambda swap, _: swap.update(key="\u0661" * 32),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_what_is_sent_is_what_is_settled(records, forge):
    forged = deepcopy(records)
    forge(
        next(each for each in forged["operations"] if each["kind"] == "claim"), forged
    )

    assert not is_read(forged)


class RolledBackError(Exception):
    """Nothing of a case stays in the file, and nothing is flushed to a disk."""


@pytest.fixture
def merged_here(tmp_path):
    """Return what a wallet of the client is that has read files, and the last merge."""

    def merged(files):
        with suppress(RolledBackError), store.transaction() as kept:
            for each in files:
                told = merging.merge(kept, read_records(each))
            dumped = merging.dump(kept)
            raise RolledBackError
        return dumped, *told

    with closing(Store(tmp_path / "wallet")) as store:
        yield merged


def by_key(records, names=()):
    """Return records in any order; the registry's null is no field here."""
    return {
        it["key"]: {name: it[name] for name in names or it if it.get(name) is not None}
        for it in records
    }


def test_client_and_page_merge_alike(pages, merged_here):
    for place, pair in enumerate(pages["pairs"]):
        theirs = pair["merged"]
        dumped, added, given = merged_here(pair["files"])

        read_records(dumped)
        mine, page = (by_key(each["outputs"]) for each in (dumped, theirs))
        assert by_key(mine.values(), FACTS) == by_key(page.values(), FACTS), place
        states = {(mine[key]["state"], page[key]["state"]) for key in page}
        others = {(here, there) for here, there in states if here != there}
        assert others <= EARLIER, place
        for kind in ("operations", "items"):
            assert by_key(dumped[kind]) == by_key(theirs[kind]), place
        assert by_key(given).keys() == by_key(pair["given"]).keys(), place
        if not others:
            assert by_key(added).keys() == by_key(pair["added"]).keys(), place


def test_what_may_have_been_carried_out_after_all_is_asked_for_again(
    records, merged_here
):
    claim = next(each for each in records["operations"] if each["kind"] == "claim")
    claim = {**claim, "state": "refused", "code": "x"}
    ask = {**claim, "key": str(uuid.uuid4()), "kind": "ask"}
    opened = {**ask, "state": "open", "offerId": f"offer_{'a' * 26}", "expiresAt": 1}
    outputs = [
        {**each, "state": "held", "spentElsewhere": False}
        for each in records["outputs"]
    ]
    spent = [{**each, "state": "spent", "spentElsewhere": True} for each in outputs]
    dumped, *_ = merged_here(
        [
            {"outputs": outputs, "operations": [claim, ask], "items": []},
            {"outputs": spent, "operations": [claim, opened], "items": []},
        ]
    )

    assert [each["state"] for each in dumped["operations"]] == ["begun", "open"]


@pytest.fixture(scope="module")
def backup(records):
    """A file of as few iterations as are allowed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file, "ITERATIONS", 100_000)
        return export_wallet(records, PASSPHRASE)


def test_a_wallet_goes_into_a_file_that_shows_nothing_and_comes_back(backup, records):
    other = unicodedata.normalize("NFD", PASSPHRASE)

    assert import_wallet(backup, other) == records
    assert [it["secret"] for it in records["outputs"] if it["secret"] in backup] == []
    assert (
        json.loads(export_wallet(records, PASSPHRASE))["data"]
        != json.loads(backup)["data"]
    )
    for passphrase in ("", f"{PASSPHRASE} ", "\udcff"):
        with pytest.raises(WalletFileError, match="passphrase"):
            import_wallet(backup, passphrase)


def test_the_document_shows_what_is_authenticated_of_a_head():
    page = (REPOSITORY / "docs/wallet-file.md").read_text(encoding="utf-8")
    head = json.loads(page.partition("```json\n")[2].partition("```")[0])
    _, _, shown = page.partition("```text\n")
    head.pop("data")

    assert file._compact(head).decode() == shown.partition("\n```")[0]


CHANGED = [("data", "ä"), ("version", 4), ("more", 1), ("cipher.iv", ""), ("kdf", [])]
CHANGED += [
    ("kdf.iterations", 99_999),
    ("kdf.iterations", 1e15),
    ("kdf.salt", "\ud800"),
]
CHANGED = [(*change, "not a backup") for change in CHANGED]
CHANGED += [(member, "AAAA", "passphrase") for member in ("data", "kdf.salt")]


@pytest.mark.parametrize(("member", "value", "said"), CHANGED)
def test_a_changed_file_is_refused_in_a_sentence(backup, member, value, said):
    head = json.loads(backup)
    *outer, name = member.split(".")
    (head[outer[0]] if outer else head)[name] = value

    with pytest.raises(WalletFileError, match=said):
        import_wallet(json.dumps(head), PASSPHRASE)


def test_what_is_no_file_of_a_wallet_is_refused(backup, monkeypatch):
    monkeypatch.setattr(file, "LENGTH_MAX", len(backup) - 1)
    no_wallet = export_wallet({"outputs": []}, "")
    for text in ("", "null", "[]", "{}", "[" * 100_000, "9" * 5000, no_wallet, backup):
        with pytest.raises(WalletFileError, match="not a backup"):
            import_wallet(text, "")


def test_what_has_no_form_in_a_file_is_not_taken_in():
    def item_with(**more):
        item = {"key": "deed_a", "id": "deed_a", "total": 1, **more}
        return {"outputs": [], "operations": [], "items": [item]}

    assert is_read(item_with(more={}))
    for value in (float("nan"), float("inf"), "\ud800"):
        assert not is_read(item_with(more=value))
    assert not is_read(item_with(total=1.0))


ASK = """async (itemId) => {
  const { offers, store } = await inBrowser.openWallet();
  const { operation } = await offers.ask({ itemId, amount: 2 });
  store.close();
  return operation.offerId;
}"""


def used_by_the_client(backup, origin, link, offer_id, path):
    """Read the file into a wallet of the client, be paid and send there.

    Return its own file.
    """
    bens = Output.parse(link)
    with Deeds(origin) as deeds, Wallet(path / "anna", deeds) as anna:
        added, _ = anna.restore(backup, test_backup.PASSPHRASE)
        assert sorted(output["amount"] for output in added) == [2, 2, 3, 5, 7]
        # What the page could not send any more.
        anna.resume()
        with Wallet(path / "ben", deeds) as ben:
            ben.claim(bens)
            ben.complete(deeds.offer(offer_id))
        anna.check()
        anna.send(bens.item_id, 1)
        assert anna.balance()[bens.item_id] == {"held": 6, "given": 3}
        return anna.export(test_backup.PASSPHRASE)


def test_a_wallet_goes_from_the_page_to_the_client_and_back(visitor, tmp_path):
    page, item_id = steps.hold(visitor, 10, metadata=steps.TICKET)
    steps.give(page, "3")
    [link] = steps.raws(page, "given")
    offer_id = page.evaluate(ASK, item_id)
    steps.send_offline(visitor, "2")
    page.get_by_role("link", name="All deeds").click()
    backup = test_backup.back_up(page).read_text()
    visitor.forget()
    visitor.context.set_offline(False)

    text = used_by_the_client(backup, visitor.origin, link, offer_id, tmp_path)
    (tmp_path / "wallet.json").write_text(text)
    page = visitor.go("/wallet")
    page.get_by_role("button", name="Restore").click()
    test_backup.restore(page, tmp_path / "wallet.json", test_backup.PASSPHRASE)

    expect(page.locator("#notices")).to_contain_text(
        "Restored. New here: 4 of 4 parts."
    )
    steps.open_deed(page, item_id)
    expect(page.get_by_role("heading", name="A ticket")).to_be_visible()
    expect(page.locator(".holding-sum")).to_have_text("6 units of 10 · 3 waiting")
    assert steps.live_amounts(visitor.origin, page) == [1, 2, 2, 4]
    assert steps.amounts(page)["given"] == [1, 2]
    assert dict(steps.operations(page))["ask"] == "done"
