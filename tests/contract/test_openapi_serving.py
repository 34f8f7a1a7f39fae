"""How GET /openapi.json is served: built late, built once, sent when it has changed."""

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deeds.blueprints import openapi
from tests.support.serving import REPOSITORY


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


def test_the_document_is_sent_again_only_when_it_has_changed(client):
    first = client.get("/openapi.json")
    again = client.get("/openapi.json", headers={"If-None-Match": first.headers["ETag"]})

    assert (first.status_code, first.content_type) == (200, "application/json")
    assert first.headers["Cache-Control"] == "no-cache"
    assert (again.status_code, again.data) == (304, b"")


def test_the_document_is_built_once_however_many_ask_at_once(app, monkeypatch):
    threads_count = 8
    together = threading.Barrier(threads_count, timeout=30)
    builds = []
    build = openapi.build_document

    def counted(info):
        builds.append(info)
        return build(info)

    def ask(_):
        together.wait()
        return app.test_client().get("/openapi.json").data

    monkeypatch.setattr(openapi, "build_document", counted)
    with ThreadPoolExecutor(threads_count) as pool:
        texts = set(pool.map(ask, range(threads_count)))

    assert (len(builds), len(texts)) == (1, 1)


def test_a_start_does_not_load_what_builds_the_document(sqlite_url):
    script = "import sys, app; app.create_app(); sys.exit('apispec' in sys.modules)"

    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=REPOSITORY,
        env={"DATABASE_URL": sqlite_url},
        check=False,
    )

    assert ended.returncode == 0
