"""Fixtures of the client's tests: a running service, and wallets at it."""

import shutil
from contextlib import ExitStack

import pytest

from deeds_client import file, seeds
from deeds_client.service import Deeds
from tests.support.serving import running_service

pytest_plugins = (
    "tests.support.needs",  # Before what imports it.
    "tests.support.fixtures",
    "tests.support.reporting",
)

pytest.register_assert_rewrite("client_support", "client_walk")

from client_support import Lines, at, folder, wallet_at  # noqa: E402

from tests.support.ledger_view import LedgerView  # noqa: E402


@pytest.fixture(scope="session", autouse=True)
def _quick(tmp_path_factory):
    """Skip or shorten what takes long."""
    with pytest.MonkeyPatch.context() as patch:
        # Services of tests speak HTTP, but each client would load certificates: 20 ms.
        patch.delenv("SSL_CERT_FILE", raising=False)
        patch.setenv("SSL_CERT_DIR", str(tmp_path_factory.mktemp("none")))
        # These services accept few secrets at once, so 512 take long.
        patch.setattr(seeds, "GAP", 8)
        # The minimum that a reader accepts.
        patch.setattr(file, "ITERATIONS", 100_000)
        yield


@pytest.fixture(scope="session")
def ledger(sqlite_template):
    """A view of the service's ledger."""
    with folder() as directory:
        database = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
        yield LedgerView(f"sqlite:///{database}")


@pytest.fixture(scope="session")
def url(ledger):
    """A service that accepts four outputs at once."""
    settings = {
        "DATABASE_URL": ledger.url,
        "DEEDS_RATE_LIMITS": "failures=off",
        "DEEDS_MAX_ARRAY": "4",
    }
    with folder() as directory, running_service(directory, **settings) as service:
        yield service.url


@pytest.fixture(scope="session")
def deeds(url):
    with Deeds(url) as deeds:
        yield deeds


class Line(Deeds):
    """The service, with these faults of its first requests, in this order."""

    def __init__(self, url, *faults):
        self.faults, self.requests, self.waits = list(faults), [], []
        super().__init__(url, transport=Lines(url, self._fate), sleep=self.waits.append)

    def _fate(self, request):
        self.requests.append(request)
        return self.faults.pop(0) if self.faults else None


@pytest.fixture
def line(url):
    """A function that returns the service, with faults of its first requests."""
    with ExitStack() as stack:
        yield lambda *faults: stack.enter_context(Line(url, *faults))


@pytest.fixture
def open_wallet(tmp_path, url):
    """A function that opens a wallet, with fates of requests to some paths."""
    with ExitStack() as stack:

        def open_wallet(name="anna", path="", *fates, **options):
            fate = at(path, *fates, **options)
            return stack.enter_context(wallet_at(tmp_path / name, url, fate))

        yield open_wallet


@pytest.fixture
def anna(open_wallet):
    return open_wallet()


@pytest.fixture
def ben(open_wallet):
    return open_wallet("ben")


@pytest.fixture
def item_id(anna):
    """An item of which Anna holds these parts."""
    return anna.mint([5, 2, 1]).item_id
