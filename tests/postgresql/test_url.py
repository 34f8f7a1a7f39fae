"""DATABASE_URL: what is taken, and what is said of one that cannot be used."""

import pytest

from app import now_ms
from deeds.errors import StartError
from parts.postgresql.database import PostgresqlDatabase
from parts.postgresql.url import LIBPQ_OPTIONS, parse_url

PASSWORD = "mark-7c1f9e"
FIXED = LIBPQ_OPTIONS | {"client_encoding": "utf8"}
TO_H = {"user": "u", "host": "h", "dbname": "deeds"}

TAKEN = [
    ("postgresql://u@h/deeds", TO_H),
    ("postgres://u@h/deeds", TO_H),
    ("postgresql+psycopg://u@h/deeds", TO_H),
    ("postgresql+psycopg2://u@h/deeds", TO_H),
    ("postgresql://u@h/deeds?", TO_H),
    ("postgresql://h", {"host": "h"}),
    ("postgresql:///deeds?host=/pg", {"host": "/pg", "dbname": "deeds"}),
    (
        "postgresql://u%40x:p%2Fq%3Fr%25@h/d%40b",
        {"user": "u@x", "password": "p/q?r%", "host": "h", "dbname": "d@b"},
    ),
    ("postgresql://u:a%40%2C%2F@h/deeds", TO_H | {"password": "a@,/"}),
    ("postgresql://u@h:05/deeds?port=6", TO_H | {"port": "6"}),
    ("postgresql://u@h/deeds?client_encoding=latin1", TO_H),
    (
        "postgresql://u@h/deeds?keepalives_idle=99&sslmode=verify-full",
        TO_H | {"keepalives_idle": "99", "sslmode": "verify-full"},
    ),
    (
        "postgresql://u@h/deeds?prepare_threshold=0&target_session_attrs=read-write",
        TO_H | {"prepare_threshold": 0, "target_session_attrs": "read-write"},
    ),
    (
        "postgresql://u@h/deeds?sslmode=require&prepare_threshold=7",
        TO_H | {"sslmode": "require", "prepare_threshold": 7},
    ),
    (
        "postgresql://u@h/deeds?prepare_threshold=None",
        TO_H | {"prepare_threshold": None},
    ),
    ("postgresql://u@/deeds?host=h1,h2&port=5", {"host": "h1,h2", "port": "5"}),
]

REFUSED = {
    "no URL": PASSWORD,
    "mysql": f"mysql://deeds:{PASSWORD}@localhost/deeds",
    "SQLite": f"sqlite:////data/{PASSWORD}.db",
    "scheme in upper case": f"POSTGRESQL://deeds:{PASSWORD}@localhost/deeds",
    "port in words": f"postgresql://deeds:{PASSWORD}@localhost:port/deeds",
    "host forgotten": f"postgresql://deeds:{PASSWORD}/deeds",
    "unknown option": f"postgresql://deeds:{PASSWORD}@localhost/deeds?plugin=nosuch",
    "option of Prisma": f"postgresql://u:{PASSWORD}@localhost/deeds?pgbouncer=true",
    "option of SQLAlchemy": f"postgresql://u:{PASSWORD}@localhost/deeds?pool_size=4",
    "option without a value": f"postgresql://deeds:{PASSWORD}@localhost/deeds?sslmode",
    "an @ in the password": f"postgresql://deeds:half@{PASSWORD}@localhost/deeds",
    "an @ and a slash": f"postgresql://deeds:half@{PASSWORD}/x@localhost/deeds",
    "an @ and a line break": f"postgresql://deeds:half@{PASSWORD}\nx@localhost/deeds",
    "an @ and a socket": f"postgres://deeds:half@{PASSWORD}@/deeds?host=/run/pg",
    "an @ and an option": f"postgres://deeds:half@h/deeds?user=x@{PASSWORD}",
    "a slash in the password": f"postgresql://deeds:12/{PASSWORD}@h/deeds",
    "a per cent sign in it": f"postgresql://deeds:{PASSWORD}%x@h/deeds",
    "a question mark in it": f"postgresql://deeds:12?{PASSWORD}@h/deeds",
    "an @ and several hosts": f"postgresql://deeds:half@{PASSWORD}@h1:1,h2:2/deeds",
    "NUL": f"postgresql://deeds:{PASSWORD}@localhost/deeds\0",
    "escaped NUL": f"postgresql://deeds:{PASSWORD}%00@localhost/deeds",
    "bytes that are not UTF-8": f"postgresql://deeds:{PASSWORD}\udcff@localhost/deeds",
    "wrong escape": f"postgresql://deeds:p@localhost/{PASSWORD}%zz",
    "one of several ports in words": (
        f"postgresql://deeds:{PASSWORD}@h1:1,h2:port/deeds"
    ),
    "IPv6 without brackets": f"postgresql://deeds:{PASSWORD}@::1,::2/deeds",
    "IPv6 with half of them": f"postgresql://deeds:{PASSWORD}@[::1,h2/deeds",
    "port option in words": f"postgresql://u:{PASSWORD}@h/deeds?port=five",
    "two hosts as options": f"postgresql://u:{PASSWORD}@/deeds?host=h1:1&host=h2:2",
    "threshold in words": "postgresql://u@h/deeds?prepare_threshold=often",
    "no threshold": "postgresql://u@h/deeds?prepare_threshold=",
    "two thresholds": "postgresql://u@h/deeds?prepare_threshold=1&prepare_threshold=2",
}

SEVERAL_HOSTS = {
    "ports": ("h1:5432,h2:5433", "h1,h2", "5432,5433"),
    "one port": ("h1,h2:5433", "h1,h2", ",5433"),
    "IPv6": ("[::1]:5432,[fe80::2],h3:1", "::1,fe80::2,h3", "5432,,1"),
    "sockets": ("%2Frun%2Fa,%2Frun%2Fb:5433", "/run/a,/run/b", ",5433"),
}


@pytest.mark.parametrize(("text", "options"), TAKEN)
def test_a_url_is_taken_as_libpq_takes_it(text, options):
    assert parse_url(text).items() >= (FIXED | options).items()


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("/deeds?host=/run/postgresql", "/run/postgresql/deeds"),
        ("h1:5432,h2:5433/deeds", "h1,h2:5432,5433/deeds"),
        (f"db/deeds?password={PASSWORD}", "db/deeds"),
        ("/deeds", "default host/deeds"),
    ],
)
def test_it_is_named_without_the_password(where, name):
    database = PostgresqlDatabase(f"postgresql://deeds:{PASSWORD}@{where}", now_ms)

    assert database.name == name


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused_without_the_password(text):
    with pytest.raises(StartError) as refused:
        PostgresqlDatabase(text, now_ms)

    assert str(refused.value).startswith("deeds: DATABASE_URL ")
    assert PASSWORD not in str(refused.value)


@pytest.mark.parametrize(
    ("hosts", "names", "ports"), SEVERAL_HOSTS.values(), ids=SEVERAL_HOSTS
)
def test_several_hosts_are_taken_as_libpq_writes_them(hosts, names, ports):
    options = parse_url(
        f"postgresql://deeds:a%40%2C%2F@{hosts}/deeds?target_session_attrs=read-write"
    )

    assert options == FIXED | {
        "user": "deeds",
        "password": "a@,/",
        "host": names,
        "port": ports,
        "dbname": "deeds",
        "target_session_attrs": "read-write",
    }
