"""What a database error means: try again, the database's trouble, or a defect of ours."""

import sqlite3

import psycopg.errors
import pytest
from sqlalchemy.exc import DBAPIError

from storage.failures import CONFLICT, DISCONNECT, is_unavailable, retry_reason

TRY_AGAIN, TROUBLE, DEFECT = (CONFLICT, True), (None, True), (None, False)


def meaning_of(original, *, is_lost=False):
    error = DBAPIError.instance(
        "SELECT 1",
        {},
        original,
        sqlite3.Error if isinstance(original, sqlite3.Error) else psycopg.Error,
        connection_invalidated=is_lost,
    )
    return retry_reason(error), is_unavailable(error)


@pytest.mark.parametrize(
    ("original", "meaning"),
    [
        (psycopg.errors.SerializationFailure(), TRY_AGAIN),
        (psycopg.errors.DeadlockDetected(), TRY_AGAIN),
        (psycopg.errors.LockNotAvailable(), TROUBLE),
        (psycopg.errors.ReadOnlySqlTransaction(), TROUBLE),
        (psycopg.errors.UniqueViolation(), DEFECT),
        (sqlite3.OperationalError(), TROUBLE),
        # "file is not a database"
        (sqlite3.DatabaseError(), TROUBLE),
        (sqlite3.IntegrityError(), DEFECT),
        (sqlite3.ProgrammingError(), DEFECT),
    ],
)
def test_an_error_is_tried_again_or_told_as_trouble_or_is_a_defect(original, meaning):
    assert meaning_of(original) == meaning


def test_a_lost_connection_is_a_reason_to_try_again():
    assert meaning_of(psycopg.OperationalError(), is_lost=True) == (DISCONNECT, True)
