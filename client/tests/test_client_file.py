"""The page's backup file and its rules for merging: the client does as the page's own code does."""

import json
import os
import subprocess
import unicodedata
from contextlib import suppress
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
FACTS = {"itemId", "amount", "secret", "givenAt", "collectedAt", "number", "of", "each", "note"}
FACTS |= {"spentElsewhere"}
# States here and in the page. Here they follow from an operation as soon as it is known, or is to
# be sent again; the page notes them when that has ended.
EARLIER = {("coming", "void"), ("leaving", "held"), ("offered", "given")}
# Fields of which the client does not check the value or how they agree with others: it derives the
# states of outputs, never reads the next two, and a service would refuse what the rest lead to.
LOOSER = {"outputs.state", "outputs.before", "outputs.operation", "operations.outputs.state"}
LOOSER |= {"outputs.changedAt", "operations.body.outputs.secret"}
LOOSER |= {"outputs.number", "outputs.of", "outputs.each", "operations.offerId"}
LOOSER |= {"operations.expiresAt", "operations.body.expiresIn"}
LOOSER |= {"operations.links.count", "operations.links.each"}


@pytest.fixture(scope="module")
def pages():
    """Files of random wallets of the page, and what the page makes of them: see pairs.js."""
    require("node 20 or newer")
    command = ["node", "tests/page/js/wallet/pairs.js", "100"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
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
        playwright.chromium.launch(executable_path=chromium_path(), args=arguments) as browser,
        profile(browser) as context,
        visiting(context, service.url) as visitor,
    ):
        yield visitor


@pytest.fixture(scope="module")
def records(pages):
    return max((pair["merged"] for pair in pages["pairs"]), key=lambda merged: len(str(merged)))


def is_read(records):
    try:
        return bool(read_records(records))
    except WRONG_FORM:
        return False


def test_what_the_client_reads_the_page_reads_too(pages):
    read = [it for it in pages["forged"] if is_read(it["records"])]

    assert all(is_read(pair["merged"]) for pair in pages["pairs"])
    assert len(pages["forged"]) > 500
    assert {it["name"] for it in read if not it["isRead"]} <= LOOSER
    assert {it["name"] for it in read if it.get("value") == {}} <= {"outputs.changedAt"}


FORGED = {
    "another is sent": lambda swap, _: swap["body"]["outputs"].append("+1.deed_a.b"),
    "less is named": lambda swap, _: swap["inputs"].pop(),
    "no output is known": lambda _, records: records.update(outputs=[]),
    "an output under another key": lambda _, records: records["outputs"][0].update(secret="x"),
    "no key of a request": lambda swap, _: swap.update(key="\u0661" * 32),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_what_is_sent_is_what_is_settled(records, forge):
    forged = deepcopy(records)
    forge(next(each for each in forged["operations"] if each["kind"] == "claim"), forged)

    assert not is_read(forged)


class RolledBackError(Exception):
    """Nothing of a case stays in the file, and nothing is flushed to a disk."""


def merged_here(store, files):
    """Return what a wallet of the client is that has read these files, and the last merge."""
    with suppress(RolledBackError), store.transaction() as kept:
        for each in files:
            merged = merging.merge(kept, read_records(each))
        dumped = merging.dump(kept)
        raise RolledBackError
    return dumped, merged


def known_of(outputs):
    return {it["key"]: {name: it[name] for name in FACTS if name in it} for it in outputs}


def by_key(records):
    """Return records in any order; the registry's null is no field here."""
    return {it["key"]: {name: it[name] for name in it if it[name] is not None} for it in records}


def keys_of(outputs):
    return {output["key"] for output in outputs}


def test_client_and_page_merge_alike(pages, tmp_path):
    store = Store(tmp_path / "wallet")
    for place, pair in enumerate(pages["pairs"]):
        theirs = pair["merged"]
        dumped, (added, given) = merged_here(store, pair["files"])

        read_records(dumped)
        assert known_of(dumped["outputs"]) == known_of(theirs["outputs"]), place
        states = [
            [by_key(each["outputs"])[key]["state"] for key in by_key(theirs["outputs"])]
            for each in (dumped, theirs)
        ]
        others = {pair for pair in zip(*states, strict=True) if len({*pair}) > 1}
        assert others <= EARLIER, place
        for kind in ("operations", "items"):
            assert by_key(dumped[kind]) == by_key(theirs[kind]), place
        assert keys_of(given) == keys_of(pair["given"]), place
        if not others:
            assert keys_of(added) == keys_of(pair["added"]), place
    store.close()


REFUSED = {"state": "refused", "code": "x", "expiresAt": None, "offerId": None}
OPEN = {"state": "open", "offerId": f"offer_{'a' * 26}", "expiresAt": 1}


def test_what_may_have_been_carried_out_after_all_is_asked_for_again(records, tmp_path):
    claim = next(each for each in records["operations"] if each["kind"] == "claim")
    ask = {**claim, "key": claim["key"][::-1], "kind": "ask"}
    outputs = [{**each, "state": "held", "spentElsewhere": False} for each in records["outputs"]]
    spent = [{**each, "state": "spent", "spentElsewhere": True} for each in outputs]
    refused = [{**claim, **REFUSED}, {**ask, **REFUSED}]
    files = [
        {"outputs": outputs, "operations": refused, "items": []},
        {"outputs": spent, "operations": [refused[0], {**ask, **OPEN}], "items": []},
    ]
    store = Store(tmp_path / "wallet")
    with store.transaction() as kept:
        for each in files:
            merging.merge(kept, each)
        states = [kept.get("operations", each["key"])["state"] for each in (claim, ask)]
    store.close()

    assert states == ["begun", "open"]


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
    assert json.loads(export_wallet(records, PASSPHRASE))["data"] != json.loads(backup)["data"]


def test_the_document_shows_what_is_authenticated_of_a_head():
    page = (REPOSITORY / "docs/wallet-file.md").read_text(encoding="utf-8")
    head = json.loads(page.partition("```json\n")[2].partition("```")[0])
    _, _, shown = page.partition("```text\n")
    head.pop("data")

    assert file._compact(head).decode() == shown.partition("\n```")[0]


def test_another_passphrase_opens_nothing(backup):
    for passphrase in ("", f"{PASSPHRASE} ", "\udcff"):
        with pytest.raises(WalletFileError, match="passphrase"):
            import_wallet(backup, passphrase)


CHANGED = [("data", "ä"), ("version", 4), ("more", 1), ("cipher.iv", ""), ("kdf", [])]
CHANGED += [("kdf.iterations", 99_999), ("kdf.iterations", 1e15), ("kdf.salt", "\ud800")]
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
    for text in ("", "null", "[]", "{}", "[" * 100_000, "9" * 5000, backup):
        with pytest.raises(WalletFileError, match="not a backup"):
            import_wallet(text, PASSPHRASE)


# Behind a total in an item that is right otherwise.
WRONG = [".0", "9" * 5000, ', "more": NaN', ', "more": 1e999', ', "more": "\\ud800"', "}"]


def test_what_opens_is_checked(monkeypatch):
    def read(rest):
        item = f'{{"key": "deed_a", "id": "deed_a", "total": 1{rest}}}'
        text = f'{{"outputs": [], "operations": [], "items": [{item}]}}'
        monkeypatch.setattr(file, "_open", lambda *_: text)
        return import_wallet("{}", PASSPHRASE)

    assert read("")["items"][0]["total"] == 1
    for rest in WRONG:
        with pytest.raises(WalletFileError, match="not a backup"):
            read(rest)


ASK = """async (itemId) => {
  const { offers, store } = await inBrowser.openWallet();
  const { operation } = await offers.ask({ itemId, amount: 2 });
  store.close();
  return operation.offerId;
}"""


def used_by_the_client(backup, origin, link, offer_id, path):
    """Read the file into a wallet of the client, be paid and send there; return its own file."""
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

    expect(page.locator("#notices")).to_contain_text("Restored. New here: 4 of 4 parts.")
    steps.open_deed(page, item_id)
    expect(page.get_by_role("heading", name="A ticket")).to_be_visible()
    expect(page.locator(".holding-sum")).to_have_text("6 units of 10 · 3 waiting")
    assert steps.live_amounts(visitor.origin, page) == [1, 2, 2, 4]
    assert steps.amounts(page)["given"] == [1, 2]
    assert dict(steps.operations(page))["ask"] == "done"
