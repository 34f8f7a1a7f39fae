"""What `deeds doctor` says of settings, the ledger, its disk and its backups."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from app import create_app, now_ms
from deeds.hashing import pepper_fingerprint
from tests.support.api import Api, environ_of, read_settings, served
from tests.support.commanding import invoke, output_of, run_deeds
from tests.support.databases import connected
from tests.support.doctoring import examined, lines_of
from tests.support.mounts import mounted
from tests.support.needs import ROOT, require
from tests.support.serving import REPOSITORY

MARK = "mark-7c1f9e"
OLD, NEW = f"{MARK}-{'o' * 32}", f"{MARK}-{'n' * 32}"

HOUR_S = 3600
OWNER = 54_321


@pytest.fixture(scope="module")
def used(sqlite_template, tmp_path_factory):
    """A directory with a ledger of two operations, an hour old, and a backup of it."""
    directory = tmp_path_factory.mktemp("used")
    environ = environ_of(url_of(shutil.copy(sqlite_template, directory)))
    an_hour_ago = lambda: now_ms() - HOUR_S * 1000  # noqa: E731
    app = create_app(read_settings(environ), clock=an_hour_ago)
    api = Api.of_app(app)
    item = api.mint("+5.a")
    api.swap(f"+5.{item}.a", f"+5.{item}.b")
    app.extensions["deeds"].close()
    output_of(environ, "backup", directory / "deeds-1.sqlite3")
    return directory


@pytest.fixture
def path(used, tmp_path):
    """The path of a ledger in a directory of its own."""
    directory = tmp_path / "a disk"
    directory.mkdir()
    shutil.copy(used / "deeds.sqlite3-checkpoint", directory)
    return Path(shutil.copy(used / "deeds.sqlite3", directory))


@pytest.fixture
def environ(path):
    return environ_of(url_of(path))


@pytest.fixture
def backups(used, tmp_path):
    """A directory with a backup."""
    directory = tmp_path / "backups"
    directory.mkdir()
    shutil.copy(used / "deeds-1.sqlite3", directory)
    return directory


@pytest.fixture
def mounts(monkeypatch, path, tmp_path):
    """A function that lets a kind of disk be mounted where the ledger is."""

    def mount(kind):
        table = tmp_path / "mountinfo"
        lines = ["1 0 8:1 / / rw - ext4 /dev/a rw"]
        place = str(path.parent).replace(" ", r"\040")
        lines += [f"2 1 8:2 / {place} rw shared:1 - {kind} /dev/b rw"]
        table.write_text("\n".join(lines))
        monkeypatch.setattr("storage.files.MOUNTS", table)

    return mount


def url_of(path):
    return f"sqlite:///{path}"


def execute(path, sql):
    with connected(url_of(path)) as connection:
        connection.execute(sql)


def contents(directory):
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_uid)
        for path in directory.iterdir()
    }


def test_of_a_sound_installation_nothing_is_wrong_and_nothing_changes(sqlite_template):
    # In the checkout: a directory for tests may be one in memory.
    with tempfile.TemporaryDirectory(prefix=".doctor-", dir=REPOSITORY) as name:
        directory = Path(name)
        ledger = shutil.copy(sqlite_template, directory / "deeds.sqlite3")
        environ = environ_of(url_of(ledger))
        with served(environ) as api:
            api.mint("+5.a")
            in_use = examined(environ)
        if os.geteuid() == 0:
            for each in (directory, *directory.iterdir()):
                os.chown(each, OWNER, OWNER)
        before = contents(directory)
        stopped = examined(environ)
        after = contents(directory)

    assert after == before
    states = {subject: line.split()[0] for subject, line in stopped.items()}
    assert states.pop("QR reader") in {"ok", "unknown"}
    unknown = {subject for subject in states if states[subject] == "unknown"}
    assert unknown == {"backups", "proxy"}
    assert set(states.values()) == {"ok", "unknown"}
    assert "sqlite3, operation 1 of 20" in stopped["ledger"]
    assert in_use["ledger"] == stopped["ledger"]


def test_each_invalid_setting_has_a_line_and_the_rest_is_examined(environ):
    wrong = {"DEEDS_ARGON2": MARK, "DEEDS_PEPPER": MARK, "DEEDS_PEPER": NEW}
    wrong["DEEDS_RATE_LIMITS"] = "mynt=5/hour"

    ran = run_deeds("doctor", **environ | wrong)

    lines = lines_of(ran.stdout)
    said = {tuple(line.split()[:2]) for line in lines["settings"].splitlines()}
    assert said == {("wrong", name) for name in wrong}
    assert lines["ledger"].startswith("ok ")
    assert lines["pepper"] == "unknown a setting of peppers is invalid"
    assert (ran.returncode, MARK in ran.stdout + ran.stderr) == (1, False)


def test_no_line_has_a_secret():
    url = f"postgresql://deeds:{MARK}@127.0.0.1:1/deeds"

    ran = invoke(environ_of(url, DEEDS_PEPPER=NEW, DEEDS_PEPPERS_OLD=OLD), "doctor")

    assert lines_of(ran.stdout)["ledger"].startswith("wrong ")
    assert (ran.exit_code, MARK in ran.output) == (1, False)


def damage_pages(path):
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 60_000)


BROKEN = {
    "there is no directory": lambda path: shutil.rmtree(path.parent),
    "there is no ledger at": Path.unlink,
    "run: python -m app migrate": lambda path: execute(
        path, "DELETE FROM schema_version WHERE part = 'offers'"
    ),
    "is damaged; if that lasts, restore a backup": damage_pages,
    "there is no table outputs": lambda path: execute(path, "DROP TABLE outputs"),
}


@pytest.mark.parametrize("said", BROKEN)
def test_a_ledger_that_cannot_be_served_is_wrong(path, environ, said):
    BROKEN[said](path)

    lines = examined(environ)

    assert lines["ledger"].startswith("wrong ")
    assert said in lines["ledger"]
    assert lines["pepper"] == "unknown the ledger cannot be read"


def test_a_ledger_that_the_owner_of_its_directory_cannot_use_is_wrong(path):
    require(ROOT)
    # Not in pytest's own, which other users may not enter.
    with tempfile.TemporaryDirectory(prefix="deeds-owner-") as name:
        ledger = shutil.copy(path, Path(name) / "deeds.sqlite3")
        os.chown(name, OWNER, OWNER)
        line = examined(environ_of(url_of(ledger)))["ledger"]

    assert line.startswith("wrong ")
    assert f"run as root: chown {OWNER} {ledger}; chmod 600 {ledger}" in line


def test_a_clock_that_is_behind_the_newest_operation_is_wrong(path, environ):
    execute(path, "UPDATE operations SET created_at_ms = created_at_ms + 7200000")

    assert examined(environ)["clock"].startswith("wrong it is 3,")


def test_peppers_are_compared_with_those_of_the_items(environ):
    old, new = (pepper_fingerprint(each.encode()) for each in (OLD, NEW))
    none = examined(environ)["pepper"]
    with served(environ | {"DEEDS_PEPPER": OLD}) as api:
        api.mint("+1.a")

    lost = examined(environ | {"DEEDS_PEPPER": NEW})["pepper"]
    kept = environ | {"DEEDS_PEPPERS_OLD": OLD}
    unset = examined(kept)["pepper"]
    right = examined(kept | {"DEEDS_PEPPER": NEW})["pepper"]

    assert none.startswith("ok none is used")
    assert lost.startswith("wrong items were minted under the pepper")
    assert f" {old}; " in lost
    assert unset.endswith("new items get none: set DEEDS_PEPPER")
    assert right.startswith(f"ok new items get {new}")


@pytest.mark.parametrize(
    ("kind", "state", "said"),
    [
        ("ext4", "ok", "free, ext4 at"),
        ("tmpfs", "wrong", "is lost when the machine stops"),
        ("nfs4", "wrong", "move the ledger to a local disk"),
        ("overlay", "unknown", "unless it is a volume"),
    ],
)
def test_the_disk_is_of_a_kind_that_keeps_a_ledger(environ, mounts, kind, state, said):
    mounts(kind)

    line = examined(environ)["disk"]

    assert line.split()[0] == state
    assert said in line


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("size=900m", "; make room, or move the ledger"),
        ("size=4g,nr_inodes=90", "more files; delete others"),
        ("size=4g,ro", "it is mounted read-only"),
    ],
)
def test_a_disk_that_is_nearly_full_is_wrong(mount_point, mounts, options, said):
    mounts("ext4")
    with mounted(mount_point, "-t", "tmpfs", "-o", options, "tmpfs"):
        line = examined(environ_of(url_of(mount_point / "deeds.sqlite3")))["disk"]

    assert line.startswith("wrong ")
    assert said in line


def test_a_log_that_is_never_written_back_is_wrong(environ, monkeypatch):
    monkeypatch.setattr("parts.operator.disks.WAL_BYTES_MAX", 4_000)
    with served(environ) as api:
        api.mint("+5.a")
        line = examined(environ)["disk"]

    assert "end audits, backups and shells of sqlite3" in line


@pytest.mark.parametrize(
    ("limit", "said"), [(150, "does not start"), (300, "takes fewer connections")]
)
def test_too_few_open_files_are_wrong(environ, monkeypatch, limit, said):
    monkeypatch.setattr("parts.operator.doctor.open_files_max", lambda: limit)

    line = examined(environ)["open files"]

    assert line.startswith(f"wrong this shell permits {limit}, ")
    assert said in line


def age(file, hours):
    os.utime(file, (time.time() - hours * HOUR_S,) * 2)


def test_the_newest_backup_is_examined(path, environ, backups):
    (backups / "SHA256SUMS").touch()

    line = examined(environ, "--backups", backups)["backups"]

    assert line.startswith("ok deeds-1.sqlite3, ")
    assert "0 h old, up to operation 2; on the ledger's disk" in line


def encrypted(newest):
    newest.rename(newest.with_suffix(".gpg")).write_bytes(b"")


def with_operation_of_another_ledger(newest):
    execute(newest, "UPDATE operations SET created_at_ms = created_at_ms + 1")


def beside_a_larger_one(newest):
    larger = newest.with_name("deeds-0.sqlite3")
    larger.write_bytes(bytes(3 * newest.stat().st_size))
    age(larger, 24)


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (lambda newest: age(newest, 27), "27 h old: that is more than 26 h"),
        (lambda newest: newest.unlink(), "does deeds-backup.timer run?"),
        (lambda newest: newest.write_bytes(b""), "no such table"),
        (encrypted, "it is empty"),
        (beside_a_larger_one, "was it broken off?"),
        (with_operation_of_another_ledger, "lacks its operation 2"),
        (lambda newest: shutil.rmtree(newest.parent), "No such file or directory"),
    ],
)
def test_a_backup_that_would_not_help_is_wrong(environ, backups, break_it, said):
    break_it(backups / "deeds-1.sqlite3")

    line = examined(environ, "--backups", backups)["backups"]

    assert line.startswith("wrong ")
    assert said in line


@pytest.mark.parametrize(
    "url",
    [
        "deeds.example.org",
        f"https://deeds:{MARK}@example.org",
        f"https://example.org:{MARK}",
    ],
)
def test_a_url_that_names_no_service_is_an_error_of_one_line(environ, url):
    ran = invoke(environ, "doctor", "--url", url)

    [line] = [each for each in ran.stderr.splitlines() if each.startswith("Error: ")]
    assert "Invalid value for '--url'" in line
    assert (ran.exit_code, ran.stdout, MARK in ran.stderr) == (2, "", False)
