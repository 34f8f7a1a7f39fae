"""What the log says when the database refuses: the cause, and no more than that."""

import logging

import psycopg
import pytest

from deeds.errors import LedgerUnavailableError
from storage.repository import Repository
from tests.postgresql.records import POLICY, mint_of, new_output, swap_of
from tests.support.databases import connected
from tests.support.watched import database_causes

MARK = "mark-3f0a72"


def test_a_line_has_the_causes_of_all_hosts_and_no_password(open_database, caplog):
    ports = range(1, 5)
    hosts = ",".join(f"127.0.0.{port}:{port}" for port in ports)
    database = open_database(f"postgresql://deeds:{MARK}@{hosts}/deeds")

    with pytest.raises(LedgerUnavailableError):
        database.read("SELECT 1")

    [(_, _, message)] = database_causes(caplog)
    assert all(f"port {port} failed: Connection refused" in message for port in ports)
    assert MARK not in caplog.text


def test_what_postgresql_says_in_detail_stays_out_of_the_log(
    own_url, open_database, caplog
):
    """DETAIL of a constraint is the whole row."""
    caplog.set_level(logging.DEBUG)
    repository = Repository(open_database(own_url))
    repository.open_policies(POLICY)
    output = new_output(5)._replace(item_id=MARK)
    repository.mint(mint_of(output))
    with connected(own_url) as other:
        other.execute("ALTER TABLE outputs ADD CONSTRAINT no_1 CHECK (amount <> 1)")
    outputs = tuple(output._replace(digest=bytes([n] * 32), amount=1) for n in range(5))

    with pytest.raises(psycopg.errors.CheckViolation):
        repository.swap(swap_of(output, outputs=outputs))

    message = 'new row for relation "outputs" violates check constraint "no_1"'
    assert database_causes(caplog) == [("CheckViolation", "23514", message)]
    assert MARK not in caplog.text
