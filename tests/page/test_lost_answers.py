"""The service dies while a deed is claimed: the next visit finishes it, and nothing is lost."""

import os
import re
import signal
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests.faults import load
from tests.page.steps import check, mint_outputs, operations, raws, take
from tests.page.visitor import visiting
from tests.support.applications import AFTER_COMMIT, BEFORE_COMMIT
from tests.support.serving import running_service
from tests.support.waiting import wait_until


class HeldService:
    """A gunicorn that is held at a commit, killed, and started again.

    Pages know a service by its address: so it comes back at the same one.
    """

    def __init__(self, directory):
        self._directory = directory
        self._running = ExitStack()
        self.hold_file = directory / "hold"
        self.database_url = f"sqlite:///{directory / 'deeds.db'}"
        self._port = 0
        self.start()

    def start(self):
        service = running_service(
            self._directory,
            application="tests.support.applications:create_held_app()",
            DATABASE_URL=self.database_url,
            DEEDS_ARGON2="m=8,t=1,p=1",
            GUNICORN_CMD_ARGS=f"--bind 127.0.0.1:{self._port}",
            HOLD_FILE=str(self.hold_file),
            WEB_CONCURRENCY="1",
        )
        self._service = self._running.enter_context(service)
        self._port, self.url = self._service.port, self._service.url

    def kill(self):
        os.killpg(self._service.process.pid, signal.SIGKILL)
        self._service.process.wait()
        self.close()

    def close(self):
        self._running.close()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    service = HeldService(tmp_path_factory.mktemp("held"))
    yield service
    service.close()


@pytest.fixture
def visitor(phone, service):
    with visiting(phone, service.url) as visitor:
        yield visitor


def claim_until_held(service, visitor, moment):
    """Claim a deed; return page and deed once the service is held at this moment of the commit."""
    [raw] = mint_outputs(service.url, "secret")
    service.hold_file.write_text(moment)
    page = visitor.go(f"/claim#{raw}")
    take(page)
    wait_until(lambda: not service.hold_file.exists())
    return page, raw


def assert_claimed_once(service, page, raw):
    wait_until(lambda: operations(page) == [("claim", "done")])
    [held] = raws(page, "held")
    assert re.fullmatch(rf"{re.escape(raw.rpartition('.')[0])}\.[0-9a-z]{{32}}", held)
    assert raws(page, "spent") == [raw]
    assert check(service.url, [raw, held]) == ["spent", "unspent"]
    # All that there is since the deed was minted.
    assert load.operations(service.database_url)[-2:] == [("mint", 0, 1), ("swap", 1, 1)]


@pytest.mark.parametrize(
    ("moment", "path"), [(BEFORE_COMMIT, "/claim"), (AFTER_COMMIT, "/item/{item_id}")]
)
def test_a_claim_whose_tab_is_closed_is_finished_by_the_next_visit(service, visitor, moment, path):
    page, raw = claim_until_held(service, visitor, moment)
    page.close()
    service.kill()
    service.start()

    page = visitor.open_tab(path.format(item_id=raw.split(".")[1]))

    page.get_by_text("is finished").wait_for()
    assert_claimed_once(service, page, raw)
    [_, again] = visitor.asked("/v1/swap")
    replayed = again.response().headers.get("idempotency-replayed")
    assert replayed == ("true" if moment == AFTER_COMMIT else None)


@pytest.mark.parametrize(("moment", "then"), [(AFTER_COMMIT, "wait"), (BEFORE_COMMIT, "reload")])
def test_a_claim_is_finished_by_the_page_that_has_seen_the_service_die(
    service, visitor, moment, then
):
    page, raw = claim_until_held(service, visitor, moment)

    service.kill()
    page.get_by_text("No connection.").wait_for()
    expect(page.locator(".found")).to_have_attribute("data-state", "busy")
    service.start()
    if then == "reload":
        page.reload()

    page.get_by_text("Yours now").or_(page.get_by_text("is finished")).first.wait_for()
    assert_claimed_once(service, page, raw)
