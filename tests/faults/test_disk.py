"""A real gunicorn on a full or missing disk: writers get 503, and nothing is lost."""

import os
import resource
import secrets
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.api import environ_of, good
from tests.support.applications import HASTY
from tests.support.commanding import output_of
from tests.support.databases import changed_url, connected, sqlite_path
from tests.support.load import CLIENTS_COUNT, Load, line_of
from tests.support.mounts import mounted
from tests.support.needs import POSTGRES_USER, ROOT, require
from tests.support.serving import running_service
from tests.support.waiting import wait_until

# Fewer than fill the WAL, after which SQLite would start to overwrite it.
ANSWERS_COUNT = 50


def test_a_full_disk_refuses_writers_not_readers_and_serves_again(
    gunicorn_service, sqlite_url, seed, report
):
    service = gunicorn_service(DATABASE_URL=sqlite_url, WEB_CONCURRENCY="2")
    workers = service.workers
    _, hard = workers[0].rlimit(resource.RLIMIT_FSIZE)
    log = Path(f"{sqlite_path(sqlite_url)}-wal")
    load = Load([lambda: service.port], seed)

    with load.running():
        load.wait_for_answers(ANSWERS_COUNT)
        item_id = load.entries[0].outputs[0].split(".")[1]
        # The kernel refuses writes beyond this size, as on a full disk.
        for worker in workers:
            worker.rlimit(resource.RLIMIT_FSIZE, (log.stat().st_size, hard))
        # Meanwhile each client checks that its refused request left nothing behind.
        load.wait_for_answers(3 * CLIENTS_COUNT, "503 ledger_unavailable")
        read = service.get(f"/v1/item/{item_id}")
        wait_until(lambda: has_failing_disk(service.get("/readyz")))
        for worker in workers:
            worker.rlimit(resource.RLIMIT_FSIZE, (hard, hard))
        load.wait_for_answers(ANSWERS_COUNT)

    counts = load.assert_nothing_lost(sqlite_url)
    assert (counts["found done"], read.status_code) == (0, 200)
    assert service.workers == workers
    report(line_of(counts))


def has_failing_disk(answer):
    """Return whether an answer says that writes fail, as at a limit on file sizes."""
    return answer.json().get("detail") == "the disk of the ledger fails"


@pytest.fixture
def small_disk(mount_point):
    """A directory on a separate disk of 4 MB."""
    with mounted(mount_point, "-t", "tmpfs", "-o", "size=4m", "tmpfs"):
        yield mount_point


@pytest.fixture
def small_tablespace(postgres):
    """The URL of a database on a separate disk of 16 MB, and the disk's path."""
    require(ROOT)
    path = Path(tempfile.mkdtemp(prefix="deeds-disk-"))
    name = f"deeds_test_{secrets.token_hex(6)}"
    with (
        mounted(path, "-t", "tmpfs", "-o", "size=16m", "tmpfs"),
        connected(postgres.admin_url) as admin,
    ):
        shutil.chown(path, POSTGRES_USER)
        admin.execute(f"CREATE TABLESPACE {name} LOCATION '{path}'")
        admin.execute(f"CREATE DATABASE {name} TABLESPACE {name} TEMPLATE template0")
        url = changed_url(postgres.admin_url, database=name)
        output_of(environ_of(url), "migrate")
        yield url, path
        postgres.drop_database(url)
        admin.execute(f"DROP TABLESPACE {name}")
    path.rmdir()


@pytest.fixture(params=["sqlite", "postgresql"])
def full_disk(request):
    """The URL of a ledger, and the path of a file that can fill its disk."""
    if request.param == "sqlite":
        path = request.getfixturevalue("small_disk")
        url = f"sqlite:///{path / 'deeds.db'}"
    else:
        url, path = request.getfixturevalue("small_tablespace")
    return url, path / "ballast"


@pytest.mark.slow
def test_a_full_disk_is_named_and_not_ready_until_it_has_room(
    full_disk, gunicorn_service
):
    url, ballast = full_disk
    settings = environ_of(url)
    service = gunicorn_service(**settings)

    with service.open_api() as api:
        item = api.mint("+5.a")
        free = shutil.disk_usage(ballast.parent).free
        ballast.write_bytes(bytes(free - 2**20))
        while True:
            large = [f"+1.{os.urandom(8).hex()}" for _ in range(256)]
            refused = api.send_mint(*large)
            if refused.status_code != 200:
                break
        unready = [api.get("/readyz") for _ in range(3)]
        alive, read = api.get("/healthz"), api.get(f"/v1/item/{item}")
        # A small write may succeed, in free space of the WAL or of a page.
        api.swap(f"+5.{item}.a", f"+5.{item}.b")
        unready += [api.get("/readyz") for _ in range(3)]
        ballast.unlink()
        wait_until(lambda: api.get("/readyz").status_code == 200)
        good(api.send_mint(*large))

    assert {
        (each.status_code, each.json()["code"], each.json()["detail"])
        for each in (refused, *unready)
    } == {(503, "ledger_unavailable", "the disk of the ledger is full")}
    assert (alive.status_code, read.status_code) == (200, 200)
    assert "Every invariant holds." in output_of(settings, "audit")


@pytest.mark.slow
def test_a_worker_creates_no_ledger_if_the_disk_is_gone(tmp_path, mount_point):
    """The checkpoint file is gone too, because it is beside the ledger."""
    disk, settings = tmp_path / "disk", environ_of(f"sqlite:///{mount_point}/deeds.db")
    settings["GUNICORN_CMD_ARGS"] = HASTY
    disk.mkdir()
    with (
        mounted(mount_point, "--bind", disk),
        running_service(tmp_path, **settings, DEEDS_LOG="json") as service,
    ):
        with service.open_api() as api:
            item = api.mint("+5.a")
        with gone(mount_point, disk):
            service.workers[0].kill()
            wait_until(lambda: "is gone: is its disk mounted?" in service.log_text())
            files = list(mount_point.iterdir())
        wait_until(lambda: is_ready(service))
        with service.open_api() as api:
            states = api.check(f"+5.{item}.a")

    assert files == []
    assert states == ["unspent"]


@contextmanager
def gone(mount_point, disk):
    """Unmount a disk within the block, although processes have files of it open."""
    subprocess.run(["umount", "--lazy", mount_point], check=True)
    yield
    subprocess.run(["mount", "--bind", disk, mount_point], check=True)


def is_ready(service):
    try:
        return service.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False
