"""A real gunicorn on a disk that is full or read-only: 503 for writers, and nothing lost."""

import resource
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from deeds.domain.raw_output import make_strong_secret
from tests.support.limited_disk import APPLICATION, FULL, READ_ONLY, ROOMY
from tests.support.racing import Racers, client_of_port
from tests.support.serving import children, running_service
from tests.support.waiting import wait_until

HOLDERS_COUNT = 4
LARGE_MINT = {"outputs": [f"+1.{number}" for number in range(256)]}
REFUSED = (503, "ledger_unavailable")


@pytest.fixture
def database_url(sqlite_url):
    return sqlite_url


@pytest.fixture
def pragmas(tmp_path):
    file = tmp_path / "pragmas"
    file.write_text(ROOMY)
    return file


@pytest.fixture
def service(tmp_path, sqlite_url, pragmas):
    """The service on two processes, whose disk `pragmas` limits."""
    with running_service(
        tmp_path,
        application=APPLICATION,
        DATABASE_URL=sqlite_url,
        TEST_PRAGMAS=str(pragmas),
        DEEDS_ARGON2="m=8,t=1,p=1",
        WEB_CONCURRENCY="2",
    ) as service:
        wait_until(lambda: len(children(service.process.pid)) == 2)
        yield service


@pytest.fixture
def racers(service):
    return Racers(partial(client_of_port, service.port))


class Holder:
    """Hands its output on, and remembers what each swap was answered."""

    def __init__(self, racers, item, secret):
        self.racers, self.item = racers, item
        self.live, self.tried = self._raw(secret), []

    def _raw(self, secret):
        return f"+5.{self.item}.{secret}"

    def swap(self, times):
        for _ in range(times):
            new = self._raw(make_strong_secret())
            body = {"inputs": [self.live], "outputs": [new]}
            status, answer = self.racers.send("/v1/swap", body)
            self.tried.append((self.live, new, (status, answer.get("code"))))
            states = self.racers.check([self.live, new])
            # Wholly there or wholly not; and there, if it was answered so.
            assert states in (["spent", "unspent"], ["unspent", "unknown"])
            assert status != 200 or states[0] == "spent"
            assert answer.get("code") != "ledger_unavailable" or states[0] == "unspent"
            self.live = new if states[0] == "spent" else self.live


@pytest.fixture
def holders(racers):
    secrets = [make_strong_secret() for _ in range(HOLDERS_COUNT)]
    item = racers.mint(*(f"+5.{secret}" for secret in secrets))
    return [Holder(racers, item, secret) for secret in secrets]


def swap_all(holders, times):
    """Let all holders swap at once; return every kind of answer."""
    with ThreadPoolExecutor(len(holders)) as pool:
        list(pool.map(lambda holder: holder.swap(times), holders))
    return {said for holder in holders for _, _, said in holder.tried[-times:]}


def mint_largely(racers):
    status, answer = racers.send("/v1/mint", LARGE_MINT)
    return status, answer.get("code")


def mint_until_refused(racers):
    """Mint until there is no room; return what was said then."""
    for _ in range(500):
        said = mint_largely(racers)
        if said[0] != 200:
            return said
    raise AssertionError("there was room without end")


@contextmanager
def wal_that_cannot_grow(path, pragmas, workers):
    """The kernel itself refuses each write past the end, as it does on a full disk."""
    limit_files(workers, Path(f"{path}-wal").stat().st_size)
    yield
    limit_files(workers, resource.RLIM_INFINITY)


def limit_files(workers, size):
    for worker in workers:
        _, hard = resource.prlimit(worker, resource.RLIMIT_FSIZE)
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (size, hard))


@contextmanager
def read_only_file(path, pragmas, workers):
    pragmas.write_text(READ_ONLY)
    yield
    pragmas.write_text(ROOMY)


@contextmanager
def full_disk(path, pragmas, workers):
    pragmas.write_text(FULL)
    yield
    pragmas.write_text(ROOMY)


@pytest.mark.parametrize(
    ("limit", "answers"),
    [
        (wal_that_cannot_grow, {REFUSED}),
        (read_only_file, {REFUSED}),
        # A page that is there may have room for a swap.
        (full_disk, {REFUSED, (200, None)}),
    ],
)
def test_a_disk_that_takes_nothing_refuses_writers_not_readers_and_serves_again(
    service, holders, ledger, pragmas, limit, answers
):
    racers = holders[0].racers
    mint_largely(racers)
    workers = children(service.process.pid)

    with limit(ledger.engine.url.database, pragmas, workers):
        said = mint_until_refused(racers)
        before = ledger.rows()
        again = mint_largely(racers)
        after = ledger.rows()
        swapped = swap_all(holders, 5)
        read = service.get_status(f"/v1/item/{holders[0].item}")

    assert said == again == REFUSED
    assert after == before
    assert swapped <= answers
    assert read == 200
    assert mint_largely(racers) == (200, None)
    assert swap_all(holders, 3) == {(200, None)}
    assert racers.check([holder.live for holder in holders]) == ["unspent"] * HOLDERS_COUNT
    assert children(service.process.pid) == workers
    ledger.assert_sound()
