"""Asks the database whether requests can be answered now."""

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from deeds.errors import LedgerUnavailableError, OverloadedError
from storage.schema import HEAD_REVISION
from storage.statements import READ_REVISION


def check_database(engine: Engine) -> None:
    """Return if the database answers and has the code's revision. Changes nothing.

    Raises:
        LedgerUnavailableError: it does not answer, or has another revision.
        OverloadedError: too many requests are waiting for it.
    """
    try:
        with engine.connect() as connection:
            revision = connection.execute(READ_REVISION).scalar()
    except PoolTimeoutError:
        raise OverloadedError("too many requests are waiting for the database") from None
    except DBAPIError:
        raise LedgerUnavailableError from None
    if revision != HEAD_REVISION:
        raise LedgerUnavailableError("the database has another revision than the code")
