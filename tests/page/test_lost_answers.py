"""The service dies while a deed is claimed: the next visit finishes it, and nothing is lost."""

import os
import re
import signal
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests.faults.load import ledger_view
from tests.page.steps import check, mint_outputs, operations, raws, take
from tests.page.visitor import visiting
from tests.support.at_commit import AFTER_COMMIT, BEFORE_COMMIT
from tests.support.serving import running_service
from tests.support.waiting import wait_until

ONE_CLAIM = [("mint", 0, 1), ("swap", 1, 1)]


class HeldService:
    """A gunicorn that is held at a commit, killed, and started again.

    Pages know a service by its address: so it comes back at the same one.
    """

    def __init__(self, directory):
        self._directory = directory
        self._hold_file = directory / "hold"
        self._running = ExitStack()
        self.database_url = f"sqlite:///{directory / 'deeds.db'}"
        self._service = self._start(0)
        self.url = self._service.url

    def _start(self, port):
        service = running_service(
            self._directory,
            application="tests.support.at_commit:create_held_app()",
            DATABASE_URL=self.database_url,
            DEEDS_ARGON2="m=8,t=1,p=1",
            GUNICORN_CMD_ARGS=f"--bind 127.0.0.1:{port}",
            HOLD_FILE=str(self._hold_file),
            WEB_CONCURRENCY="1",
        )
        return self._running.enter_context(service)

    def hold_at(self, moment):
        self._hold_file.write_text(moment)

    def wait_until_held(self):
        wait_until(lambda: not self._hold_file.exists())

    def kill(self):
        os.killpg(self._service.process.pid, signal.SIGKILL)
        self._service.process.wait()
        self.close()

    def start_again(self):
        self._service = self._start(self._service.port)

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


@pytest.fixture
def raw(service):
    return mint_outputs(service.url, "secret")[0]


def in_ledger(service):
    """Return the operations from the latest mint on."""
    with ledger_view(service.database_url) as ledger:
        ledger.assert_sound()
        found = ledger.operations()
    while ("mint", 0, 1) in found[1:]:
        found = found[1:]
    return found


def claim_until_held(service, visitor, raw, moment):
    """Claim a deed; return the page once the service is held at this moment of the commit."""
    service.hold_at(moment)
    page = visitor.go(f"/claim#{raw}")
    take(page)
    service.wait_until_held()
    return page


def assert_claimed_once(service, page, raw):
    wait_until(lambda: operations(page) == [("claim", "done")])
    [held] = raws(page, "held")
    assert re.fullmatch(rf"{re.escape(raw.rpartition('.')[0])}\.[0-9a-z]{{32}}", held)
    assert raws(page, "spent") == [raw]
    assert check(service.url, [raw, held]) == ["spent", "unspent"]
    assert in_ledger(service) == ONE_CLAIM


@pytest.mark.parametrize(
    ("moment", "path"), [(BEFORE_COMMIT, "/claim"), (AFTER_COMMIT, "/item/{item_id}")]
)
def test_a_claim_whose_tab_is_closed_is_finished_by_the_next_visit(
    service, visitor, raw, moment, path
):
    claim_until_held(service, visitor, raw, moment).close()
    service.kill()
    service.start_again()

    page = visitor.open_tab(path.format(item_id=raw.split(".")[1]))

    page.get_by_text("is finished").wait_for()
    assert_claimed_once(service, page, raw)
    [_, again] = visitor.asked("/v1/swap")
    replayed = again.response().headers.get("idempotency-replayed")
    assert replayed == ("true" if moment == AFTER_COMMIT else None)


@pytest.mark.parametrize(("moment", "then"), [(AFTER_COMMIT, "wait"), (BEFORE_COMMIT, "reload")])
def test_a_claim_is_finished_by_the_page_that_has_seen_the_service_die(
    service, visitor, raw, moment, then
):
    page = claim_until_held(service, visitor, raw, moment)

    service.kill()
    page.get_by_text("There was no answer.").wait_for()
    expect(page.locator(".found")).to_have_attribute("data-state", "busy")
    service.start_again()
    if then == "reload":
        page.reload()

    page.get_by_text("Yours now").or_(page.get_by_text("is finished")).first.wait_for()
    assert_claimed_once(service, page, raw)
