"""What a database error means: try again, the database's trouble, or a defect of ours."""

import sqlite3
from contextlib import closing

import psycopg.errors
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, ProgrammingError

from storage.failures import CONFLICT, DISCONNECT, is_surely_undone, is_unavailable, retry_reason

TRY_AGAIN, TROUBLE, DEFECT = (CONFLICT, True), (None, True), (None, False)


@pytest.mark.parametrize(
    ("kind", "original", "meaning"),
    [
        (OperationalError, psycopg.errors.SerializationFailure(), TRY_AGAIN),
        (OperationalError, psycopg.errors.DeadlockDetected(), TRY_AGAIN),
        (OperationalError, psycopg.errors.LockNotAvailable(), TROUBLE),
        (OperationalError, sqlite3.OperationalError(), TROUBLE),
        (DBAPIError, psycopg.errors.ReadOnlySqlTransaction(), TROUBLE),
        (DBAPIError, sqlite3.DatabaseError(), TROUBLE),
        (IntegrityError, psycopg.errors.UniqueViolation(), DEFECT),
        (IntegrityError, sqlite3.IntegrityError(), DEFECT),
        (ProgrammingError, sqlite3.ProgrammingError(), DEFECT),
    ],
)
def test_an_error_is_tried_again_or_told_as_trouble_or_is_a_defect(kind, original, meaning):
    error = kind("SELECT 1", {}, original)
    assert (retry_reason(error), is_unavailable(error)) == meaning


def test_a_lost_connection_is_a_reason_to_try_again():
    error = OperationalError("", {}, psycopg.OperationalError(), connection_invalidated=True)

    assert retry_reason(error) == DISCONNECT


@pytest.mark.parametrize(
    ("name", "is_undone"),
    [("SQLITE_FULL", True), ("SQLITE_IOERR_WRITE", True), ("SQLITE_IOERR_FSYNC", False)],
)
def test_a_commit_is_surely_undone_where_a_write_or_all_of_it_was_refused(name, is_undone):
    original = sqlite3.OperationalError()
    original.sqlite_errorcode = getattr(sqlite3, name)
    error = OperationalError("COMMIT", {}, original)

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        assert is_surely_undone(error, connection) == is_undone
        connection.execute("BEGIN")
        assert is_surely_undone(error, connection)
