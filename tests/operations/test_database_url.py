"""DATABASE_URL: which databases are taken, and what is said of the others."""

from unittest.mock import ANY
from urllib.parse import quote

import pytest
from sqlalchemy import make_url

from deeds.domain.errors import StartError
from deeds.domain.raw_output import make_strong_secret
from deeds.settings import Settings
from storage.engine import make_engine, parse_database_url

PASSWORD = "mark-7c1f9e"

TAKEN = {
    "sqlite file": ("sqlite:////data/deeds.db", "sqlite+pysqlite", "/data/deeds.db"),
    "sqlite file below": ("sqlite:///deeds.db", "sqlite+pysqlite", "deeds.db"),
    "sqlite with its driver": ("sqlite+pysqlite:///deeds.db", "sqlite+pysqlite", "deeds.db"),
    "postgresql": ("postgresql://u@h/deeds", "postgresql+psycopg", "deeds"),
    "postgres, as some hosts write it": ("postgres://u@h/deeds", "postgresql+psycopg", "deeds"),
    "with another driver": ("postgresql+psycopg2://u@h/deeds", "postgresql+psycopg", "deeds"),
    "over a socket": ("postgresql:///deeds?host=/run/pg", "postgresql+psycopg", "deeds"),
}

REFUSED = {
    "memory": "sqlite:///:memory:",
    "memory by URI": "sqlite:///file::memory:?uri=true",
    "no URL": PASSWORD,
    "mysql": f"mysql://deeds:{PASSWORD}@localhost/deeds",
    "scheme in upper case": f"POSTGRESQL://deeds:{PASSWORD}@localhost/deeds",
    "port in words": f"postgresql://deeds:{PASSWORD}@localhost:port/deeds",
    "host forgotten": f"postgresql://deeds:{PASSWORD}/deeds",
    "option of the driver": f"sqlite:////data/{PASSWORD}.db?check_same_thread=true",
    "plugin": f"postgresql://deeds:{PASSWORD}@localhost/deeds?plugin=nosuch",
    "an @ in the password": f"postgresql://deeds:half@{PASSWORD}@localhost/deeds",
    "an @ and a slash": f"postgresql://deeds:half@{PASSWORD}/x@localhost/deeds",
    "an @ and a line break": f"postgresql://deeds:half@{PASSWORD}\nx@localhost/deeds",
    "an @ and a socket": f"postgres://deeds:half@{PASSWORD}@/deeds?host=/run/pg",
    "an @ and several hosts": f"postgresql://deeds:half@{PASSWORD}@h1:1,h2:2/deeds",
    "one of several ports in words": f"postgresql://deeds:{PASSWORD}@h1:1,h2:port/deeds",
    "IPv6 without brackets": f"postgresql://deeds:{PASSWORD}@::1,::2/deeds",
    "IPv6 with half of them": f"postgresql://deeds:{PASSWORD}@[::1,h2/deeds",
    "fewer ports than hosts": f"postgresql://u:{PASSWORD}@/deeds?host=h1,h2&port=5",
    "port option in words": f"postgresql://u:{PASSWORD}@h/deeds?port=five",
    "several hosts and options": f"postgresql://deeds:{PASSWORD}@h1,h2/deeds?port=5432",
    "threshold in words": "postgresql://u@h/deeds?prepare_threshold=often",
    "two thresholds": "postgresql://u@h/deeds?prepare_threshold=1&prepare_threshold=2",
}

SEVERAL_HOSTS = {
    "ports": ("h1:5432,h2:5433", "h1,h2", "5432,5433"),
    "one port": ("h1,h2:5433", "h1,h2", ",5433"),
    "IPv6": ("[::1]:5432,[fe80::2],h3:1", "::1,fe80::2,h3", "5432,,1"),
    "sockets": ("%2Frun%2Fa,%2Frun%2Fb:5433", "/run/a,/run/b", ",5433"),
}


@pytest.mark.parametrize(("text", "driver", "database"), TAKEN.values(), ids=TAKEN)
def test_an_engine_of_sqlite_or_postgresql_keeps_bound_values_out_of_its_errors(
    text, driver, database
):
    url = parse_database_url(text)
    engine = make_engine(url)

    assert (url.drivername, url.database) == (driver, database)
    assert engine.hide_parameters
    engine.dispose()


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_refused_without_the_password(text):
    with pytest.raises(StartError) as refused:
        make_engine(parse_database_url(text)).dispose()

    assert str(refused.value).startswith("deeds cannot start: DATABASE_URL ")
    assert PASSWORD not in str(refused.value)


def test_several_hosts_are_taken_as_sqlalchemy_writes_them():
    url = parse_database_url("postgresql://u@/deeds?host=h1:5432&host=h2:5432")

    assert make_engine(url).dialect.create_connect_args(url)[1]["host"] == "h1,h2"


@pytest.mark.parametrize(("hosts", "names", "ports"), SEVERAL_HOSTS.values(), ids=SEVERAL_HOSTS)
def test_several_hosts_are_taken_as_libpq_writes_them(hosts, names, ports):
    url = parse_database_url(
        f"postgresql://deeds:a%40%2C%2F@{hosts}/deeds?target_session_attrs=read-write"
    )

    assert make_engine(url).dialect.create_connect_args(url)[1] == {
        "context": ANY,
        "user": "deeds",
        "password": "a@,/",
        "host": names,
        "port": ports,
        "dbname": "deeds",
        "target_session_attrs": "read-write",
    }


def test_a_service_starts_on_the_host_that_answers(emptied_postgres_url, open_app, tmp_path):
    url = make_url(emptied_postgres_url)
    hosts = ",".join(quote(host, safe="") for host in (str(tmp_path), url.query["host"]))
    app = open_app(
        Settings(f"postgresql://{url.username}@{hosts}/{url.database}?target_session_attrs=any")
    )

    assert app.test_client().get("/readyz").status_code == 200


def test_a_name_and_an_address_of_their_own_may_hold_an_at_sign():
    """Where there is no password nothing of one can be shown."""
    assert parse_database_url("postgresql://u@x:p@h/deeds").username == "u@x"
    assert parse_database_url("postgresql://u@h/d@b").database == "d@b"


def test_the_url_cannot_change_how_text_is_sent(emptied_postgres_url, open_app):
    """libpq takes an encoding from the URL that could not say every name."""
    url = make_url(emptied_postgres_url).update_query_dict({"client_encoding": "latin1"})
    app = open_app(Settings(url.render_as_string(hide_password=False)))
    body = {"outputs": [f"+5.{make_strong_secret()}"], "metadata": {"name": "\U0001f3e1"}}

    assert app.test_client().post("/v1/mint", json=body).status_code == 200
