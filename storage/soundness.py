"""Looks for damage in an SQLite file before it is served: a page that rotted, a copy cut short."""

from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from deeds.domain.errors import StartError
from storage.failures import cause_of, one_line

# A million outputs, 84 MB, take about 0.2 s. A larger file would hold up the start for too long:
# that one is for `deeds audit`.
CHECKED_BYTES_MAX = 256 * 2**20


def check_file(engine: Engine) -> None:
    """Read the whole of an SQLite file and check its pages, indexes and constraints.

    One of more than CHECKED_BYTES_MAX bytes is not read. PostgreSQL looks after its own files.

    Raises:
        StartError: the file is damaged or cannot be read.
    """
    if engine.dialect.name != "sqlite":
        return
    if Path(engine.url.database or "").stat().st_size > CHECKED_BYTES_MAX:
        return
    try:
        with engine.connect() as connection:
            # One finding is enough to stop for.
            found = one_line(connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one())
    except DBAPIError as error:
        found = cause_of(error)
    if found != "ok":
        raise StartError(
            f"DATABASE_URL: the SQLite file is damaged ({found}); put a backup in its place"
        )
