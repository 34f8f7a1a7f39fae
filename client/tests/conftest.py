"""What the client's tests share with those of the service, which they run against."""

import shutil

import pytest

from deeds_client.service import Deeds
from tests.support.serving import running_service

pytest_plugins = (
    "tests.support.needs",  # Before what imports it.
    "tests.support.fixtures",
    "tests.support.reporting",
)

pytest.register_assert_rewrite("client_walk")

from client_walk import folder  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def _no_certificates(tmp_path_factory):
    """Services of tests speak plain HTTP, but each client would read them: 20 ms."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("none")))
        yield


@pytest.fixture(scope="session")
def url(sqlite_template):
    """A service that takes four outputs at once."""
    with folder() as directory:
        database = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
        settings = {
            "DATABASE_URL": f"sqlite:///{database}",
            "DEEDS_RATE_LIMITS": "failures=off",
            "DEEDS_MAX_ARRAY": "4",
        }
        with running_service(directory, **settings) as service:
            yield service.url


@pytest.fixture(scope="session")
def deeds(url):
    with Deeds(url) as deeds:
        yield deeds
