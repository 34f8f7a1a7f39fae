"""The service on a small disk of its own that is really full. By hand: only root may mount one.

unshare --mount python -m pytest tests/support/full_disk.py
"""

import os
import signal
import subprocess
from contextlib import suppress

import pytest

from deeds.domain.strong_secret import make_strong_secret
from storage.engine import make_engine, parse_database_url
from tests.faults.test_disk import HOLDERS_COUNT, REFUSED, Holder, mint_until_refused, swap_all
from tests.support.ledger_view import LedgerView
from tests.support.racing import Racers, client_of_port
from tests.support.serving import running_service

DISK_SIZE = "4m"
SERVED = {"DEEDS_ARGON2": "m=8,t=1,p=1", "WEB_CONCURRENCY": "2"}


@pytest.fixture
def disk(tmp_path):
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_SIZE}", "deeds", path]
    subprocess.run(mount, check=True)
    yield path
    subprocess.run(["umount", path], check=True)


@pytest.fixture
def database_url(disk):
    return f"sqlite:///{disk / 'deeds.sqlite3'}"


def fill(disk):
    """Leave not one block on the disk; return the file that takes it."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(b"x" * 4096):
            pass
    assert os.statvfs(disk).f_bavail == 0
    return filler


@pytest.mark.parametrize("round_number", range(5))
def test_a_full_disk_refuses_writers_not_readers_and_keeps_no_refused_swap(
    disk, database_url, tmp_path, round_number
):
    with running_service(tmp_path, DATABASE_URL=database_url, **SERVED) as service:
        racers = Racers(lambda: client_of_port(service.port))
        secrets = [make_strong_secret() for _ in range(HOLDERS_COUNT)]
        item = racers.mint(*(f"+5.{secret}" for secret in secrets))
        holders = [Holder(racers, item, secret) for secret in secrets]
        assert swap_all(holders, 3) == {(200, None)}

        filler = fill(disk)
        said = swap_all(holders, 20) | {mint_until_refused(racers)}
        read = service.get_status(f"/v1/item/{item}")
        # What was refused is not brought back by a crash either.
        os.killpg(service.process.pid, signal.SIGKILL)
        service.process.wait()
        filler.unlink()

    assert (said - {(200, None)}, read) == ({REFUSED}, 200)
    with running_service(tmp_path, DATABASE_URL=database_url, **SERVED) as service:
        racers = Racers(lambda: client_of_port(service.port))
        for holder in holders:
            holder.racers = racers
            refused = [each for each in holder.tried if each[2] == REFUSED]
            for _, new, _ in refused:
                assert racers.check([new]) == ["unknown"]
        assert racers.check([holder.live for holder in holders]) == ["unspent"] * HOLDERS_COUNT
        assert swap_all(holders, 3) == {(200, None)}
    assert_sound(database_url)


def assert_sound(database_url):
    engine = make_engine(parse_database_url(database_url))
    try:
        LedgerView(engine).assert_sound()
    finally:
        engine.dispose()
