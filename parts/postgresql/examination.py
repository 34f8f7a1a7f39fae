"""The findings of `deeds doctor` on the server, its clock and its connections."""

from collections.abc import Iterator
from contextlib import closing
from time import time

import psycopg
from psycopg.errors import UndefinedTable

from deeds.errors import StartError
from deeds.part import Finding
from deeds.process import default_processes_count
from deeds.settings import Settings
from parts.postgresql.connections import BoundedConnection, connect
from parts.postgresql.definitions import check_ids
from parts.postgresql.failures import has_no_free_connection, one_line
from parts.postgresql.pool import share_of
from parts.postgresql.url import parse_url

# Times in the ledger come from the clocks of the service's machines, and offers expire
# by them. NTP keeps clocks within a second, and the query takes less than the rest.
CLOCK_SECONDS_MAX = 5.0

# Connections left for `migrate` and for the operator's psql.
_OTHER_CONNECTIONS = 2

_READ_SERVER = """
    SELECT current_setting('transaction_read_only') = 'on',
        current_setting('fsync') = 'off',
        CAST(extract(epoch FROM clock_timestamp()) AS float8)
"""

# For each limit, of the server, the role and the database: the number of sessions left
# for the service, including those that it has. The server may hide the type of another
# role's session.
_READ_FREE = """
    WITH sessions AS (
        SELECT usename = current_user AS is_of_role,
            datname = current_database() AS is_here
        FROM pg_stat_activity
        WHERE datid IS NOT NULL
            AND coalesce(backend_type, 'client backend') = 'client backend'
    )
    SELECT CAST(current_setting('max_connections') AS int)
            - CAST(current_setting('superuser_reserved_connections') AS int)
            - coalesce(CAST(current_setting('reserved_connections', true) AS int), 0)
            - (SELECT count(*) FROM sessions WHERE NOT (is_of_role AND is_here))
    UNION ALL
    SELECT rolconnlimit
        - (SELECT count(*) FROM sessions WHERE is_of_role AND NOT is_here)
    FROM pg_roles WHERE rolname = current_user AND rolconnlimit >= 0
    UNION ALL
    SELECT datconnlimit
        - (SELECT count(*) FROM sessions WHERE is_here AND NOT is_of_role)
    FROM pg_database WHERE datname = current_database() AND datconnlimit >= 0
"""


def examine_server(settings: Settings) -> Iterator[Finding]:
    """Yield findings on the server that DATABASE_URL names.

    Uses a connection of its own, for 3 s at most, and changes nothing.
    """
    try:
        with closing(connect(parse_url(settings.database_url))) as connection:
            yield from _examine(connection, settings)
    except psycopg.Error as error:
        reason = one_line(error)
        if has_no_free_connection(error):
            yield Finding(
                "wrong",
                "connections",
                f"the server has none left ({reason}); lower DEEDS_POOL_SIZE of all"
                " instances, or raise its max_connections",
            )
        else:
            yield Finding("unknown", "server", f"it cannot be asked: {reason}")
    except StartError as stop:
        yield Finding("wrong", "connections", stop.reason)


def _examine(connection: BoundedConnection, settings: Settings) -> Iterator[Finding]:
    [(is_read_only, is_unsafe, seconds)] = connection.execute(_READ_SERVER)
    ahead_s = seconds - time()
    if is_read_only:
        yield Finding(
            "wrong",
            "server",
            "it is read-only, as a standby is; name the primary in DATABASE_URL, or"
            " all of them with ?target_session_attrs=read-write",
        )
    if is_unsafe:
        yield Finding(
            "wrong",
            "server",
            "fsync is off: a power cut loses or damages the ledger; turn it on",
        )
    if not (is_read_only or is_unsafe):
        yield Finding("ok", "server", "it takes writes, and keeps them on its disk")
    yield _examine_clock(ahead_s)
    yield Finding("unknown", "disk", "it is the server's; watch its space there")
    yield _examine_connections(connection, settings)
    try:
        check_ids(connection)
    except StartError as stop:
        yield Finding("wrong", "server", stop.reason)
    except UndefinedTable:
        # The finding on the ledger reports the missing tables.
        return


def _examine_clock(ahead_s: float) -> Finding:
    if abs(ahead_s) <= CLOCK_SECONDS_MAX:
        return Finding("ok", "clock", "this machine and the database agree")
    order = "behind" if ahead_s > 0 else "ahead of"
    return Finding(
        "wrong",
        "clock",
        f"this machine is {abs(ahead_s):,.0f} s {order} the database; let NTP set both"
        " (timedatectl set-ntp true)",
    )


def _examine_connections(connection: BoundedConnection, settings: Settings) -> Finding:
    [(process_id,)] = connection.execute("SELECT pg_backend_pid()")
    if process_id != connection.info.backend_pid:
        return Finding(
            "unknown", "connections", "a pooler stands between; see its limits"
        )
    processes_count = settings.processes_count or default_processes_count()
    pool_size = processes_count * share_of(settings.pool_size, processes_count)
    free_count = min(count for (count,) in connection.execute(_READ_FREE))
    instances_count = (free_count - _OTHER_CONNECTIONS) // pool_size
    if instances_count < 1:
        return Finding(
            "wrong",
            "connections",
            f"an instance takes {pool_size}, commands {_OTHER_CONNECTIONS}, and there"
            f" are {free_count} for them; lower DEEDS_POOL_SIZE, and WEB_CONCURRENCY"
            " below it, or raise the limit of the server, role or database",
        )
    return Finding(
        "ok",
        "connections",
        f"an instance takes {pool_size} of {free_count}: enough for {instances_count}",
    )
