"""The service dies while a deed is claimed: the next visit finishes it, and nothing is lost."""

import re

import pytest

from tests.faults.load import ledger_view
from tests.page.held_service import HeldService
from tests.page.kept import kept_operations, kept_outputs
from tests.page.samples import mint_deed, post
from tests.page.visitor import visiting
from tests.support.at_commit import AFTER_COMMIT, BEFORE_COMMIT
from tests.support.waiting import wait_until

MOMENTS = [BEFORE_COMMIT, AFTER_COMMIT]
ONE_CLAIM = [("mint", 0, 1), ("swap", 1, 1)]


@pytest.fixture
def service(tmp_path):
    service = HeldService(tmp_path)
    service.start()
    yield service
    service.close()


@pytest.fixture
def visitor(browser, service):
    with visiting(browser, service.url) as visitor:
        yield visitor


@pytest.fixture
def raw(service):
    return f"+5.{mint_deed(service.url, {'name': 'A ticket'}, '+5.secret')}.secret"


def begin_claim(visitor, raw):
    page = visitor.go(f"/claim#{raw}")
    page.get_by_role("button", name="Take custody").click()
    return page


def operations(service):
    with ledger_view(service.database_url) as ledger:
        ledger.assert_sound()
        return ledger.operations()


def assert_claimed_once(service, page, raw):
    wait_until(lambda: kept_operations(page) == [("claim", "done")])
    [held] = kept_outputs(page, "held")
    assert re.fullmatch(rf"{re.escape(raw.rpartition('.')[0])}\.[0-9a-z]{{32}}", held)
    assert kept_outputs(page, "spent") == [raw]
    asked = {"outputs": [raw, held]}
    assert post(f"{service.url}/v1/check", asked) == {"states": ["spent", "unspent"]}
    assert operations(service) == ONE_CLAIM


def open_again(visitor, path):
    """Open a page in a new tab of the same browser."""
    visitor.page = visitor.context.new_page()
    return visitor.go(path)


@pytest.mark.parametrize("path", ["/claim", "/", "/item/{item_id}"])
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_claim_whose_tab_was_closed_before_the_service_died_is_finished_by_the_next_visit(
    service, visitor, raw, moment, path
):
    service.hold_at(moment)
    page = begin_claim(visitor, raw)
    service.wait_until_held()

    page.close()
    service.kill()
    service.start()
    replayed = []

    def note(answer):
        if answer.url.endswith("/v1/swap"):
            replayed.append(answer.headers.get("idempotency-replayed"))

    visitor.context.on("response", note)
    page = open_again(visitor, path.format(item_id=raw.split(".")[1]))

    page.get_by_text("is finished").wait_for()
    assert_claimed_once(service, page, raw)
    assert replayed == ["true" if moment == AFTER_COMMIT else None]


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_claim_is_finished_by_the_next_visit_after_its_page_has_seen_the_service_die(
    service, visitor, raw, moment
):
    service.hold_at(moment)
    page = begin_claim(visitor, raw)
    service.wait_until_held()

    service.kill()
    page.get_by_text("There was no answer.").wait_for()
    page.close()
    service.start()
    page = open_again(visitor, "/claim")

    page.get_by_text("What was begun earlier is finished: 5 units taken.").wait_for()
    assert_claimed_once(service, page, raw)


@pytest.mark.parametrize("moment", MOMENTS)
def test_an_open_page_finishes_by_itself_once_the_service_is_back(service, visitor, raw, moment):
    service.hold_at(moment)
    page = begin_claim(visitor, raw)
    service.wait_until_held()

    service.kill()
    page.get_by_text("There was no answer.").wait_for()
    assert page.locator(".found").get_attribute("data-state") == "busy"
    assert not page.get_by_role("button", name="Take custody").is_visible()
    service.start()

    page.get_by_role("heading", name="Yours now").wait_for()
    assert_claimed_once(service, page, raw)


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_reload_in_between_shows_the_deed_again_and_finishes_it(service, visitor, raw, moment):
    service.hold_at(moment)
    page = begin_claim(visitor, raw)
    service.wait_until_held()

    service.kill()
    service.start()
    page.reload()

    page.get_by_role("heading", name="Yours now").wait_for()
    assert_claimed_once(service, page, raw)


def test_a_claim_that_never_went_out_is_finished_by_the_next_visit(service, visitor, raw):
    page = visitor.go(f"/claim#{raw}")
    # Looking the deed up asks the service too.
    take = page.get_by_role("button", name="Take custody")
    take.wait_for()
    visitor.context.set_offline(True)
    take.click()
    page.get_by_text("There was no answer.").wait_for()
    page.close()
    assert operations(service) == ONE_CLAIM[:1]

    visitor.context.set_offline(False)
    page = open_again(visitor, "/claim")

    page.get_by_text("is finished").wait_for()
    assert_claimed_once(service, page, raw)


def test_whoever_was_faster_while_the_service_was_away_has_it_and_nobody_else(
    service, visitor, raw
):
    service.hold_at(BEFORE_COMMIT)
    page = begin_claim(visitor, raw)
    service.wait_until_held()
    page.close()
    service.kill()
    service.start()
    other = f"{raw.rpartition('.')[0]}.faster"
    post(f"{service.url}/v1/swap", {"inputs": [raw], "outputs": [other]})

    page = open_again(visitor, "/claim")

    page.get_by_text("5 units refused (These units were taken already.").wait_for()
    wait_until(lambda: kept_operations(page) == [("claim", "refused")])
    assert (kept_outputs(page, "held"), kept_outputs(page, "spent")) == ([], [raw])
    assert operations(service) == ONE_CLAIM
