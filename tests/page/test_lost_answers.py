"""The service dies while units move.

The next visit finishes it, and nothing is lost.
"""

import re

import pytest
from playwright.sync_api import expect

from tests.faults import load
from tests.faults.mortal_service import MortalService
from tests.page.steps import (
    amounts,
    check,
    hold,
    mint_outputs,
    operations,
    raws,
    records,
    take,
)
from tests.page.visitor import visiting
from tests.support.applications import AFTER_COMMIT, BEFORE_COMMIT
from tests.support.ledger_view import ledger_view
from tests.support.waiting import wait_until


class HeldService(MortalService):
    """Is held at a commit.

    Comes back at the same address, by which pages know a service.
    """

    def __init__(self, directory):
        self.hold_file = directory / "hold"
        settings = {"DEEDS_ARGON2": "m=8,t=1,p=1", "HOLD_FILE": str(self.hold_file)}
        application = "tests.support.applications:create_held_app()"
        database_url = f"sqlite:///{directory / 'deeds.db'}"
        super().__init__(directory, database_url, application, workers=1, **settings)
        self.start()
        address = f"127.0.0.1:{self.find_port()}"
        self.url = f"http://{address}"
        self._settings["GUNICORN_CMD_ARGS"] = f"--bind {address}"


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
    """Claim a deed.

    Return page and deed once the service is held at this moment of the commit.
    """
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
    assert load.operations(service.database_url)[-2:] == [
        ("mint", 0, 1),
        ("swap", 1, 1),
    ]


@pytest.mark.parametrize(
    ("moment", "path"), [(BEFORE_COMMIT, "/claim"), (AFTER_COMMIT, "/item/{item_id}")]
)
def test_a_claim_whose_tab_is_closed_is_finished_by_the_next_visit(
    service, visitor, moment, path
):
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


def test_a_claim_is_finished_by_the_page_that_has_seen_the_service_die(
    service, visitor
):
    page, raw = claim_until_held(service, visitor, AFTER_COMMIT)

    service.kill()
    page.get_by_text("No connection.").wait_for()
    expect(page.locator(".found")).to_have_attribute("data-state", "busy")
    service.start()

    page.get_by_text("Yours now").wait_for()
    assert_claimed_once(service, page, raw)


@pytest.mark.parametrize("moment", [BEFORE_COMMIT, AFTER_COMMIT])
def test_an_offer_whose_tabs_are_closed_is_made_once_and_completed_once(
    service, visitor, moment
):
    parts = [
        {"itemId": hold(visitor, amount)[1], "amount": amount} for amount in (5, 3)
    ]

    def lose_answer(begin, given):
        """Begin in one tab, and return the next one."""
        page = visitor.open_tab(f"/item/{parts[0]['itemId']}")
        service.hold_file.write_text(moment)
        page.evaluate(f"given => inBrowser.{begin}(given)", given)
        wait_until(lambda: not service.hold_file.exists())
        page.close()
        service.kill()
        service.start()
        return visitor.open_tab("/wallet")

    page = lose_answer("beginToTrade", parts)
    wait_until(lambda: ("trade", "open") in operations(page))
    assert amounts(page) == {"coming": [3], "held": [3], "offered": [5]}
    [offer_id] = [
        each["offerId"] for each in records(page, "operations") if "offerId" in each
    ]
    page = lose_answer("beginToComplete", offer_id)
    wait_until(lambda: ("complete", "done") in operations(page))
    # A page asks what became of an offer when it is opened, then every 20 s.
    page = visitor.open_tab("/wallet")

    wait_until(
        lambda: {("trade", "done"), ("complete", "done")} <= set(operations(page))
    )
    assert amounts(page) == {"held": [3, 5], "spent": [3, 5]}
    assert check(service.url, raws(page, "held")) == ["unspent"] * 2
    with ledger_view(service.database_url) as ledger:
        assert ledger.operations()[-2:] == [("offer", 1, 1), ("swap", 2, 2)]
