"""Fixtures that many tests share."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.support import hooks  # noqa: F401 - before any connection is opened
from tests.support.api import Api, environ_of, opened
from tests.support.argon2_calls import count_hashes
from tests.support.databases import sqlite_path
from tests.support.ledger_view import LedgerView
from tests.support.mortal_service import MortalService
from tests.support.needs import ROOT, require
from tests.support.pgbouncer import behind
from tests.support.postgres import PostgresCluster, running_cluster, running_server
from tests.support.serving import running_service
from tests.support.stoppable_postgres import ReplicatedPostgres, StoppablePostgres
from tests.support.strong_secrets import is_strong_secret

ONE_PROCESS = {"WEB_CONCURRENCY": "1"}


def pytest_make_parametrize_id(val):
    """Return an id without backslashes, which pytest would escape again."""
    if not isinstance(val, str | bytes):
        return None
    if isinstance(val, str) and is_strong_secret(val.lower()):
        # Each test process makes other secrets, but all must use the same test ids.
        return "a strong secret"
    escaped = ascii(val[:30])
    return escaped.replace("\\", "%") if len(val) > 30 or "\\" in escaped else None


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers():
    """Run one process more than there are CPUs: many tests wait for a service."""
    return os.cpu_count() + 1


def pooled(url):
    """Return the URL through the pooler in TEST_POOLER, if there is one."""
    pooler = os.environ.get("TEST_POOLER")
    return behind(url, pooler) if pooler else url


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server: the one in TEST_DATABASE_URL, or one of our own."""
    if admin_url := os.environ.get("TEST_DATABASE_URL"):
        cluster = PostgresCluster(admin_url)
        yield cluster
        cluster.drop_template()
        return
    with running_cluster(syncs=False) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def stoppable_postgres():
    """A PostgreSQL server that the tests of one file may stop and start."""
    with running_server(syncs=False) as server:
        yield StoppablePostgres(server)


@pytest.fixture
def replicated():
    """A running primary; the test may start its standby, which may take over."""
    with running_server(syncs=False) as server:
        replicated = ReplicatedPostgres(server)
        yield replicated
        replicated.stop_standby()


@pytest.fixture
def postgres_url(postgres):
    """The URL of an empty PostgreSQL database."""
    url = postgres.create_database()
    yield url
    postgres.drop_database(url)


@pytest.fixture
def fresh_postgres_url(postgres):
    """A function that creates a PostgreSQL database with the service's tables.

    It returns the URL.
    """
    with ExitStack() as stack:

        def make():
            url = postgres.create_migrated_database()
            stack.callback(postgres.drop_database, url)
            return url

        yield make


@pytest.fixture(scope="session")
def reused_postgres_url(postgres):
    """The URL of a PostgreSQL database that tests use one after the other."""
    url = postgres.create_migrated_database()
    yield url
    postgres.drop_database(url)


@pytest.fixture
def emptied_postgres_url(reused_postgres_url):
    """The URL of a PostgreSQL database with the service's tables, all empty.

    For tests that do not change the schema. Creating and dropping a database takes some
    hundred times as long as most tests.
    """
    LedgerView(reused_postgres_url).replace({})
    return reused_postgres_url


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory):
    """An SQLite file with the service's tables, all empty."""
    url = f"sqlite:///{tmp_path_factory.mktemp('template') / 'deeds.sqlite3'}"
    with opened(environ_of(url)):
        pass
    LedgerView(url).replace({})
    return sqlite_path(url)


@pytest.fixture
def sqlite_url(sqlite_template, tmp_path):
    """The URL of an SQLite database with the service's tables, all empty."""
    # A copy: creating the tables takes five times as long as the rest of a short test.
    return f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'deeds.sqlite3')}"


@pytest.fixture
def thread():
    """A pool of one thread, to send a request while another one is under way."""
    with ThreadPoolExecutor(max_workers=1) as pool:
        yield pool


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request):
    """The URL of a database with the service's tables.

    The test runs once on each kind.
    """
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite_url")
    return pooled(request.getfixturevalue("emptied_postgres_url"))


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger_url(request):
    """The URL of a database for one test only, once on each kind."""
    if request.param == "sqlite":
        return request.getfixturevalue("sqlite_url")
    return request.getfixturevalue("fresh_postgres_url")()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_url(request, tmp_path_factory):
    """The URL of a database for all tests of a file, once on each kind."""
    if request.param == "sqlite":
        template = request.getfixturevalue("sqlite_template")
        yield f"sqlite:///{shutil.copy(template, tmp_path_factory.mktemp('shared'))}"
        return
    postgres = request.getfixturevalue("postgres")
    url = postgres.create_migrated_database()
    yield pooled(url)
    postgres.drop_database(url)


@pytest.fixture(scope="module")
def shared_app(shared_url):
    """A service for all tests of a file, which must not affect each other.

    Opening one takes longer than most of these tests.
    """
    with opened(environ_of(shared_url)) as app:
        yield app


@pytest.fixture(scope="module")
def shared_api(shared_app):
    return Api.of_app(shared_app)


@pytest.fixture
def settings(database_url):
    """The environment of a service on `database_url`, with the cheapest Argon2."""
    return environ_of(database_url)


@pytest.fixture
def open_app():
    """A function that opens the service with an environment.

    Several services may share a database.
    """
    with ExitStack() as stack:
        yield lambda environ: stack.enter_context(opened(environ))


@pytest.fixture
def open_api(settings, open_app):
    """A function that opens the service with more variables, and returns a client."""
    return lambda **variables: Api.of_app(open_app(settings | variables))


@pytest.fixture
def limited(sqlite_url, open_app):
    """A function that opens the service with these limits, and returns a client."""

    def open_it(limits, **variables):
        environ = environ_of(sqlite_url, DEEDS_RATE_LIMITS=limits, **variables)
        return Api.of_app(open_app(environ))

    return open_it


@pytest.fixture
def app(settings, open_app):
    """The service, as a Flask application."""
    return open_app(settings)


@pytest.fixture
def client(app):
    """Flask's test client of the service, for requests that httpx cannot send."""
    return app.test_client()


@pytest.fixture
def api(app):
    """A client of the API, in this process."""
    return Api.of_app(app)


@pytest.fixture
def hash_costs(monkeypatch):
    """A list of the costs of all evaluations of Argon2."""
    return count_hashes(monkeypatch)


@pytest.fixture
def ledger(database_url):
    """A view of the database, whose invariants are checked after the test."""
    view = LedgerView(database_url)
    yield view
    view.assert_sound()


@pytest.fixture
def mount_point(tmp_path):
    """An empty directory at which a disk can be mounted."""
    require(ROOT)
    path = tmp_path / "mount-point"
    path.mkdir()
    return path


@pytest.fixture
def gunicorn_service(tmp_path):
    """A function that starts the whole service: `gunicorn_service(DATABASE_URL=…)`.

    It has one process unless WEB_CONCURRENCY says otherwise.
    """
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(
            running_service(tmp_path, **ONE_PROCESS | settings)
        )


@pytest.fixture(scope="module")
def shared_service(tmp_path_factory):
    """Like `gunicorn_service`, for services that the tests of a file share."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(
            running_service(
                tmp_path_factory.mktemp("service"), **ONE_PROCESS | settings
            )
        )


@pytest.fixture
def make_service(tmp_path):
    """A function that starts a service that can be killed: `make_service(url)`."""
    with ExitStack() as stack:

        def make(database_url, **settings):
            service = MortalService(tmp_path, database_url, **settings)
            stack.callback(service.close)
            service.start()
            return service

        yield make
