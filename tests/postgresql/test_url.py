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
    ("postgres://u@h/deeds?", TO_H),
    ("postgresql+psycopg2://u@h/deeds", TO_H),
    ("postgresql:///deeds?host=/pg", {"host": "/pg", "dbname": "deeds"}),
    (
        "postgresql://u%40x:p%2Fq%3Fr%25@h/d%40b",
        {"user": "u@x", "password": "p/q?r%", "host": "h", "dbname": "d@b"},
    ),
    # Other encodings could not say every text.
    ("postgresql://u@h/deeds?client_encoding=latin1", TO_H),
    (
        "postgresql://u@h/deeds?keepalives_idle=99&prepare_threshold=0&sslmode=require",
        TO_H | {"keepalives_idle": "99", "prepare_threshold": 0, "sslmode": "require"},
    ),
    (
        "postgresql://u@h/deeds?sslmode=require&prepare_threshold=None",
        TO_H | {"sslmode": "require", "prepare_threshold": None},
    ),
    ("postgresql://h1:5,h2:6/deeds", {"host": "h1,h2", "port": "5,6"}),
    (
        "postgresql://u:a%40@[::1]:5,%2Frun%2Fa/deeds",
        {"password": "a@", "host": "::1,/run/a", "port": "5,"},
    ),
]

REFUSED = {
    "no URL": PASSWORD,
    "SQLite": f"sqlite:////data/{PASSWORD}.db",
    "scheme in upper case": f"POSTGRESQL://deeds:{PASSWORD}@localhost/deeds",
    "port in words": f"postgresql://deeds:{PASSWORD}@h1:1,h2:port/deeds",
    "host forgotten": f"postgresql://deeds:{PASSWORD}/deeds",
    "option of another driver": f"postgresql://u:{PASSWORD}@h/deeds?pgbouncer=true",
    "option without a value": f"postgresql://deeds:{PASSWORD}@localhost/deeds?sslmode",
    "an @ in the password": f"postgresql://deeds:half@{PASSWORD}@localhost/deeds",
    "an @ and a slash": f"postgresql://deeds:half@{PASSWORD}/x@localhost/deeds",
    "an @ and an option": f"postgres://deeds:half@h/deeds?user=x@{PASSWORD}",
    "a slash in the password": f"postgresql://deeds:12/{PASSWORD}@h/deeds",
    "a per cent sign in it": f"postgresql://deeds:{PASSWORD}%x@h/deeds",
    "escaped NUL": f"postgresql://deeds:{PASSWORD}%00@localhost/deeds",
    "bytes that are not UTF-8": f"postgresql://deeds:{PASSWORD}\udcff@localhost/deeds",
    "IPv6 with half of them": f"postgresql://deeds:{PASSWORD}@[::1,h2/deeds",
    "two hosts as options": f"postgresql://u:{PASSWORD}@/deeds?host=h1:1&host=h2:2",
    "threshold in words": "postgresql://u@h/deeds?prepare_threshold=often",
}


@pytest.mark.parametrize(("text", "options"), TAKEN)
def test_a_url_is_taken_as_libpq_takes_it(text, options):
    assert parse_url(text).items() >= (FIXED | options).items()


@pytest.mark.parametrize(
    ("where", "name"),
    [
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
