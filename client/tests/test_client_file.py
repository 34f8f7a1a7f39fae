"""The page's backup file and its rules for merging.

The client does as the page's own code does.
"""

import json
import math
import os
import shutil
import subprocess
import unicodedata
from contextlib import closing, suppress
from copy import deepcopy
from dataclasses import replace

import pytest
from client_walk import folder, units
from playwright.sync_api import expect, sync_playwright

from deeds_client import Deeds, Output, Wallet, file, merging
from deeds_client.errors import InvalidInputError, WalletFileError
from deeds_client.file import export_wallet, import_wallet
from deeds_client.record_format import (
    KINDS,
    compact,
    read_contents,
    write,
    write_contents,
)
from deeds_client.records import Seed, now
from deeds_client.store import Store
from tests.page import steps
from tests.page.visitor import visiting
from tests.support.needs import chromium_path, require
from tests.support.readme import blocks_of
from tests.support.serving import REPOSITORY, running_service

PASSPHRASE = "Käse & Brot 😀"
NO_BACKUP = "not a backup"
# Fields that the client keeps for the page and never reads.
UNUSED = {
    "at",
    "outputs.changedAt",
    "outputs.each",
    "operations.links",
    "operations.links.count",
    "operations.links.each",
    "operations.links.from",
    "operations.links.isNext",
}
# It derives the states of outputs, and a service would refuse what the others lead to.
# Of the links that a mint of the page has promised it knows nothing.
LOOSER = {
    "outputs.number",
    "outputs.of",
    "operations.body.outputs.amount",
    "operations.body.expiresIn",
}


def files_of_worlds(count):
    """Return files of random wallets of the page, and what the page makes of them.

    See pairs.js.
    """
    require("node 20 or newer")
    command = ["node", "tests/page/js/wallet/pairs.js", str(count)]
    return json.loads(subprocess.check_output(command, cwd=REPOSITORY))


@pytest.fixture(scope="module")
def pages():
    return files_of_worlds(200)


@pytest.fixture
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
        visiting(browser, service.url) as visitor,
    ):
        yield visitor


@pytest.fixture(scope="module")
def records():
    """What a file holds that has both a claim and a mint."""
    return next(
        pair["merged"]
        for pair in files_of_worlds(10)["pairs"]
        if {"claim", "mint"} <= {each["kind"] for each in pair["merged"]["operations"]}
    )


CUTS = json.loads((REPOSITORY / "tests/vectors/metadata.json").read_text())


@pytest.mark.parametrize("case", CUTS, ids=lambda case: case["name"])
def test_a_file_keeps_as_much_of_metadata_as_the_pages_does(case):
    metadata, kept = (
        pieces and "".join(text * count for text, count in pieces)
        for pieces in (case["metadata"], case["kept"])
    )

    assert merging.cut_metadata(metadata) == kept


def is_read(records):
    try:
        return bool(read_contents(records))
    except InvalidInputError:
        return False


@pytest.mark.slow
def test_what_the_client_reads_the_page_reads_too(pages):
    read = [it for it in pages["forged"] if is_read(it["records"])]

    assert all(is_read(pair["merged"]) for pair in pages["pairs"])
    assert len(pages["forged"]) > 500
    assert {it["name"] for it in read if not it["isRead"]} <= LOOSER | UNUSED
    assert {it["name"] for it in read if it.get("value") == {}} <= UNUSED


def first(records, kind):
    return next(each for each in records["operations"] if each["kind"] == kind)


FORGED = {
    "another is sent": lambda swap, _: swap["body"]["outputs"].append("+1.deed_a.b"),
    "nothing is made": lambda claim, _: [
        claim["outputs"].clear(),
        claim["body"]["outputs"].clear(),
    ],
    "no output is known": lambda _, records: records.update(outputs=[]),
    "no object of metadata": lambda _, records: first(records, "mint")["body"].update(
        metadata="name"
    ),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_what_is_sent_is_what_is_settled(records, forge):
    forged = deepcopy(records)

    forge(first(forged, "claim"), forged)

    assert not is_read(forged)


def merged(files):
    """Return what a wallet of the client keeps that has read these files in turn.

    And what the last merge has added, and what of it was given away.
    """
    with (
        folder() as directory,
        closing(Store(directory / "wallet")) as store,
        store.transaction() as records,
    ):
        for each in files:
            added = merging.merge(records, read_contents(each), is_own=True)
        given = [output for output in added if output.may_be_given]
        return write_contents(merging.dump(records)), written(added), written(given)


def written(outputs):
    return [write(output) for output in outputs]


def by_key(records):
    """Return records in any order; the registry's null is no field here."""
    return {
        it["key"]: {name: it[name] for name in it if it[name] is not None}
        for it in records
    }


@pytest.mark.slow
def test_client_and_page_merge_alike(pages):
    for place, pair in enumerate(pages["pairs"]):
        theirs = pair["merged"]
        dumped, added, given = merged(pair["files"])
        read_contents(dumped)
        for output in dumped["outputs"] + theirs["outputs"]:
            del output["changedAt"]
        for kind in KINDS:
            assert by_key(dumped[kind]) == by_key(theirs[kind]), place
        assert by_key(given).keys() == by_key(pair["given"]).keys(), place
        assert by_key(added).keys() == by_key(pair["added"]).keys(), place


def test_what_may_have_been_carried_out_after_all_is_asked_again(records):
    claim = first(records, "claim") | {"state": "refused", "code": "x"}
    files = [
        {
            **EMPTY,
            "outputs": [each | told for each in records["outputs"]],
            "operations": [claim],
        }
        for told in ({"state": "held"}, {"state": "spent", "spentElsewhere": True})
    ]

    dumped, *_ = merged(files)

    assert [each["state"] for each in dumped["operations"]] == ["begun"]


def assert_refused(text, said=NO_BACKUP, passphrase=PASSPHRASE):
    with pytest.raises(WalletFileError, match=said):
        import_wallet(text, passphrase)


@pytest.fixture(scope="module")
def backup(records):
    return export_wallet(read_contents(records), PASSPHRASE)


def test_a_wallet_goes_into_a_file_that_shows_nothing_and_comes_back(backup, records):
    other = unicodedata.normalize("NFD", PASSPHRASE)

    read = import_wallet(backup, other)
    assert write_contents(read) == write_contents(read_contents(records))
    assert [it["secret"] for it in records["outputs"] if it["secret"] in backup] == []


def test_no_two_files_of_a_wallet_are_encrypted_alike(backup, records):
    again = export_wallet(read_contents(records), PASSPHRASE)

    assert json.loads(again)["data"] != json.loads(backup)["data"]


@pytest.mark.parametrize("passphrase", ["", f"{PASSPHRASE} ", "\udcff"])
def test_another_passphrase_opens_no_file(backup, passphrase):
    assert_refused(backup, "passphrase does not open", passphrase)


def test_the_document_shows_a_file_and_what_is_authenticated_of_its_head():
    [(file, (_, shown)), (records, _), *_] = blocks_of(["docs/wallet-file.md"], "json")
    head = json.loads(file)
    del head["data"], head["checksum"]

    read = import_wallet(file, "six words that nobody guesses")

    assert write_contents(read) == json.loads(records)
    assert compact(head) == shown.replace("\n", "")


ITEM = {"key": "deed_a", "id": "deed_a", "total": 1}
EMPTY = {"outputs": [], "operations": [], "items": [], "seeds": [], "numbers": []}
DAMAGED = [
    ("data", "ä"),
    ("version", 5),
    ("more", 1),
    ("cipher.iv", ""),
    ("kdf", []),
    ("kdf.iterations", 99_999),
    ("kdf.iterations", 2_000_001),
    ("kdf.salt", "\ud800"),
]
CHANGED = [(*change, NO_BACKUP) for change in DAMAGED]
CHANGED += [(member, "AAAA", "passphrase") for member in ("data", "kdf.salt")]


@pytest.mark.parametrize(("member", "value", "said"), CHANGED)
def test_a_forged_file_is_refused_in_a_sentence(backup, member, value, said):
    forged = json.loads(backup)
    *outer, name = member.split(".")
    (forged[outer[0]] if outer else forged)[name] = value
    del forged["checksum"]
    with suppress(InvalidInputError):
        forged["checksum"] = file._checksum(forged)

    assert_refused(json.dumps(forged), said)


def test_damage_is_told_apart_from_a_wrong_passphrase(backup):
    damaged = backup.replace('"data": "', '"data": "AAAA')

    assert_refused(damaged, "damaged: a part of it")


SEED = {"key": "0f" * 32, "isOwn": True, "createdAt": 1}
NUMBERS = {"key": f"{SEED['key']}.deed_a", "kept": 2**48 - 1}


def test_seeds_and_their_numbers_are_read():
    assert is_read({**EMPTY, "seeds": [SEED], "numbers": [NUMBERS]})


@pytest.mark.parametrize(
    ("seeds", "numbers"),
    [
        ([SEED | {"key": "0F" * 32}], []),
        ([SEED, SEED | {"key": "aa" * 32}], []),
        ([SEED] + [{"key": f"{at:064x}", "createdAt": 1} for at in range(8)], []),
        ([], [NUMBERS]),
        ([SEED], [NUMBERS | {"key": SEED["key"]}]),
        ([SEED], [NUMBERS | {"given": 2**48}]),
        ([SEED], [NUMBERS | {"given": 1.0}]),
    ],
)
def test_a_wrong_seed_or_number_is_refused(seeds, numbers):
    assert not is_read({**EMPTY, "seeds": seeds, "numbers": numbers})


@pytest.mark.parametrize("text", ["", "null", "{}", "[" * 100_000, "9" * 5000])
def test_what_is_no_file_of_a_wallet_is_refused(text):
    assert_refused(text)


def test_a_file_without_a_wallet_is_refused():
    # Of a seed that is nobody's own.
    none = replace(read_contents(EMPTY), seeds=[Seed(SEED["key"], now())])

    assert_refused(export_wallet(none, PASSPHRASE))


def test_a_file_that_is_too_long_is_refused(backup, monkeypatch):
    monkeypatch.setattr(file, "LENGTH_MAX", len(backup) - 1)

    assert_refused(backup)


@pytest.mark.parametrize("value", [math.nan, "\ud800"])
def test_what_has_no_form_in_a_file_is_not_taken_in(value):
    assert not is_read({**EMPTY, "items": [ITEM | {"more": value}]})


ASK = """async (itemId) => {
  const { offers, store } = await inBrowser.openWallet();
  const { operation } = await offers.ask({ itemId, amount: 2 });
  store.close();
  return operation.offerId;
}"""


def used_by_the_client(origin, link, offer_id, path):
    """Read page.json into a wallet of the client, be paid and send there.

    Write its own file, wallet.json.
    """
    bens = Output.parse(link)
    with Deeds(origin) as deeds, Wallet(path / "anna", deeds) as anna:
        added = anna.restore(path / "page.json", steps.PASSPHRASE, own=True)
        assert sorted(output.amount for output in added) == [2, 2, 3, 5, 7]
        # What the page could not send any more.
        anna.__enter__()
        with Wallet(path / "ben", deeds) as ben:
            ben.claim(bens)
            ben.complete(deeds.offer(offer_id))
        anna.sync()
        anna.send(bens.item_id, 1)
        assert units(anna, bens.item_id) == {"held": 6, "given": 3}
        anna.export(path / "wallet.json", steps.PASSPHRASE)


@pytest.mark.slow
def test_a_wallet_goes_from_the_page_to_the_client_and_back(visitor, tmp_path):
    page, item_id = steps.hold(visitor, 10, metadata=steps.TICKET)
    steps.give(page, "3")
    [link] = steps.raws(page, "given")
    offer_id = page.evaluate(ASK, item_id)
    steps.send_offline(visitor, "2")
    steps.follow(page, "All deeds")
    shutil.copy(steps.back_up(page), tmp_path / "page.json")
    visitor.forget()
    visitor.go_online()

    used_by_the_client(visitor.origin, link, offer_id, tmp_path)
    page = visitor.go("/wallet")
    page.get_by_role("button", name="Restore").click()
    steps.restore(page, tmp_path / "wallet.json", steps.PASSPHRASE)
    steps.press(page, steps.MINE)

    steps.close_report(page, "Restored: 1 deed.")
    steps.open_deed(page, item_id)
    expect(page.get_by_role("heading", name="A ticket")).to_be_visible()
    # Two were paid.
    steps.expect_text(page, "[data-part=more]", "6 went out: 2 redeemed, 4 still out")
    steps.expect_text(page, "[data-part=here]", "4")
    steps.expect_text(page, "[data-part=back]", "2")
    steps.expect_text(page, "[data-part=given]", "3")
    outputs = [Output.parse(raw) for raw in steps.raws(page, "held", "given")]
    with Deeds(visitor.origin) as deeds:
        assert deeds.check(outputs) == ["unspent"] * 4
    assert steps.amounts(page)["held"] == [2, 4]
    assert steps.amounts(page)["given"] == [1, 2]
    assert dict(steps.operations(page))["ask"] == "done"
