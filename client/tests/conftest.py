"""What the client's tests share with those of the service, which they run against."""

import shutil

import pytest

from deeds_client.service import Deeds
from tests.support.serving import running_service

pytest_plugins = (
    "tests.support.fixtures",
    "tests.support.needs",
    "tests.support.reporting",
)

pytest.register_assert_rewrite("client_walk")

from client_walk import folder  # noqa: E402


@pytest.fixture(scope="session")
def url(sqlite_template):
    """A service that takes four outputs at once."""
    with folder() as directory:
        database = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
        settings = {
            "DATABASE_URL": f"sqlite:///{database}",
            "DEEDS_RATE_LIMITS": "failures=off",
        }
        with running_service(directory, DEEDS_MAX_ARRAY="4", **settings) as service:
            yield service.url


@pytest.fixture(scope="session")
def deeds(url):
    with Deeds(url) as deeds:
        yield deeds
