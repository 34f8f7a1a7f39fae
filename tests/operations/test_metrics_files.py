"""The directory in which the processes of a gunicorn count, and who has which place in it."""

import os
import time

import pytest

from deeds.server.metrics_files import MetricsFiles

LONG_AGO = 3600


@pytest.fixture
def files(tmp_path):
    files = MetricsFiles.create(str(tmp_path))
    yield files
    files.remove()


def age(path):
    then = time.time() - LONG_AGO
    os.utime(path, (then, then))


def test_places_are_taken_from_the_lowest_on_and_again_once_free(files):
    first = [files.take_place() for _ in range(3)]
    files.free_place(1)
    files.free_place(0)

    assert first == [0, 1, 2]
    assert [files.take_place() for _ in range(3)] == [0, 1, 3]


def test_a_place_that_is_freed_keeps_what_was_counted_but_not_what_was_under_way(files):
    files.take_place()
    files.free_place(0)

    assert sorted(path.name for path in files.directory.glob("*.db")) == [
        "counter_0.db",
        "histogram_0.db",
    ]


def test_a_start_removes_what_a_killed_service_has_left(tmp_path):
    left = MetricsFiles.create(str(tmp_path))
    left.take_place()
    os.close(left._lock)
    age(left.directory)

    files = MetricsFiles.create(str(tmp_path))

    assert list(tmp_path.iterdir()) == [files.directory]
    files.remove()


def test_a_start_leaves_what_others_use_or_have_just_made(tmp_path, files):
    age(files.directory)
    just_made = tmp_path / "deeds-metrics-new"
    just_made.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "deeds-metrics-link").symlink_to(elsewhere)

    MetricsFiles.create(str(tmp_path)).remove()

    assert files.directory.exists()
    assert just_made.exists()
    assert elsewhere.exists()
