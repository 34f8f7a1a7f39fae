"""What the log says when the database refuses: the cause, and no more than that."""

import logging
import secrets

import psycopg
import pytest

from deeds.errors import LedgerUnavailableError
from storage.repository import Repository
from tests.postgresql.records import (
    POLICY,
    backend_of,
    mint_of,
    new_output,
    swap_interrupted,
    swap_of,
)
from tests.support.databases import changed_url, connected

MARK = "mark-3f0a72"


def causes(caplog):
    """Return class, code and message of each line about the database."""
    return [
        (record.fields["error"], record.fields["database_code"], record.getMessage())
        for record in caplog.records
        if getattr(record, "event", None) == "database"
    ]


def test_a_role_that_may_not_log_in_is_named_as_the_cause(
    database_url, open_database, other, caplog
):
    role = f"deeds_test_{secrets.token_hex(6)}"
    other.execute(f"CREATE ROLE {role} NOLOGIN")
    with_password = changed_url(database_url, user=role).replace("@", f":{MARK}@", 1)
    database = open_database(with_password)

    for _ in range(3):
        with pytest.raises(LedgerUnavailableError):
            database.read("SELECT 1")

    other.execute(f"DROP ROLE {role}")
    [(name, code, message)] = causes(caplog)
    assert (name, code) == ("OperationalError", None)
    assert "not permitted to log in" in message
    assert MARK not in caplog.text


def test_a_line_has_the_causes_of_all_hosts(open_database, caplog):
    ports = range(1, 5)
    hosts = ",".join(f"127.0.0.{port}:{port}" for port in ports)
    database = open_database(f"postgresql://deeds:{MARK}@{hosts}/deeds")

    with pytest.raises(LedgerUnavailableError):
        database.read("SELECT 1")

    [(_, _, message)] = causes(caplog)
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

    said = 'new row for relation "outputs" violates check constraint "no_1"'
    assert causes(caplog) == [("CheckViolation", "23514", said)]
    assert MARK not in caplog.text


def test_a_connection_that_breaks_is_no_warning_of_the_driver(
    database, repository, cut_off, caplog
):
    """It would come with every request while the database is away."""
    output = new_output(5)
    repository.mint(mint_of(output))
    work = swap_interrupted(1, lambda each: cut_off(backend_of(each)))

    database.write(work, swap_of(output))

    assert caplog.text == ""
