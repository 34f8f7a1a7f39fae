"""The page's backup file and its rules for merging.

The client does as the page's own code does.
"""

import json
import math
import subprocess
import unicodedata
from contextlib import closing, suppress
from copy import deepcopy

import pytest
from client_support import folder

from deeds_client import file, merging
from deeds_client.errors import InvalidInputError, WalletFileError
from deeds_client.file import export_wallet, import_wallet
from deeds_client.record_format import (
    KINDS,
    compact,
    read_contents,
    write,
    write_contents,
)
from deeds_client.store import Store
from tests.support.needs import require
from tests.support.readme import blocks_of
from tests.support.serving import REPOSITORY

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
# Fields that the client checks less than the page. A service would refuse the requests,
# and the client knows nothing of the links that a mint of the page has planned.
LOOSER = {
    "outputs.number",
    "outputs.of",
    "operations.body.outputs.amount",
    "operations.body.expiresIn",
}


def files_of_worlds(count):
    """Return files of random wallets of the page, and how the page merges them.

    See pairs.js.
    """
    require("node 20 or newer")
    command = ["node", "tests/page/js/wallet/pairs.js", str(count)]
    return json.loads(subprocess.check_output(command, cwd=REPOSITORY))


@pytest.fixture(scope="module")
def pages():
    return files_of_worlds(200)


@pytest.fixture(scope="module")
def records():
    """The records of a file that has both a claim and a mint."""
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
    """Return records by key. A null, as in the registry, counts as absent."""
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


def assert_refused(text, said=NO_BACKUP, passphrase=PASSPHRASE):
    with pytest.raises(WalletFileError, match=said):
        import_wallet(text, passphrase)


@pytest.fixture(scope="module")
def backup(records):
    return export_wallet(read_contents(records), PASSPHRASE)


def test_a_wallet_goes_into_a_file_that_shows_nothing_and_comes_back(backup, records):
    other = unicodedata.normalize("NFD", PASSPHRASE)

    read = import_wallet(backup, other)
    again = export_wallet(read, PASSPHRASE)

    assert json.loads(again)["data"] != json.loads(backup)["data"]
    assert write_contents(read) == write_contents(read_contents(records))
    assert [it["secret"] for it in records["outputs"] if it["secret"] in backup] == []


# Reads a file as the page does, and writes its records into another.
READ_AND_WRITE = """
import { text } from "node:stream/consumers";
import * as file from "./parts/pages/static/js/wallet/file.js";
const passphrase = process.argv[1];
const records = await file.importWallet(await text(process.stdin), passphrase);
const material = await file.makeMaterial(passphrase);
process.stdout.write(await file.exportWallet(records, material));
"""


def test_the_page_opens_the_clients_file_and_the_client_the_pages(backup, records):
    require("node 20 or newer")
    command = ["node", "--input-type=module", "--eval", READ_AND_WRITE, PASSPHRASE]

    pages = subprocess.check_output(command, cwd=REPOSITORY, input=backup, text=True)

    read = import_wallet(pages, PASSPHRASE)
    assert write_contents(read) == write_contents(read_contents(records))


@pytest.mark.parametrize("passphrase", [f"{PASSPHRASE} ", "\udcff"])
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
    ("version", 5),
    ("cipher.iv", ""),
    ("kdf.iterations", 99_999),
    ("kdf.iterations", 2_000_001),
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


@pytest.mark.parametrize(
    ("seeds", "numbers"),
    [
        ([SEED, SEED | {"key": "aa" * 32}], []),
        ([SEED] + [{"key": f"{at:064x}", "createdAt": 1} for at in range(8)], []),
        ([], [NUMBERS]),
        ([SEED], [NUMBERS | {"given": 2**48}]),
    ],
)
def test_a_wrong_seed_or_number_is_refused(seeds, numbers):
    assert not is_read({**EMPTY, "seeds": seeds, "numbers": numbers})


@pytest.mark.parametrize("text", ["null", "{}", "[" * 100_000])
def test_what_is_no_file_of_a_wallet_is_refused(text):
    assert_refused(text)


def test_a_file_that_is_too_long_is_refused(backup, monkeypatch):
    monkeypatch.setattr(file, "LENGTH_MAX", len(backup) - 1)

    assert_refused(backup)


@pytest.mark.parametrize("value", [math.nan, "\ud800"])
def test_what_has_no_form_in_a_file_is_not_taken_in(value):
    assert not is_read({**EMPTY, "items": [ITEM | {"more": value}]})
