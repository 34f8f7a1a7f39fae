"""A phone whose clock is two days off, at the door of tickets with an end."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.page.steps import expect_text, mint_outputs, press
from tests.page.test_door import LAST, type_link
from tests.page.visitor import cut_off, visiting

# Which way the clock is off, whether the ticket is still good, and what then is said.
CASES = [
    ("fast", True, "Expired, if this phone's clock is right", "Valid, 5"),
    ("slow", False, "The service can't be reached right now.", "Expired on"),
]
PATHS = "**/{v1,web/qr}**"


@pytest.fixture
def keeper(browser, web_service):
    """A person in a profile whose clock the test can set."""
    with visiting(browser, web_service.url) as visitor:
        yield visitor


@pytest.mark.parametrize(("way", "is_good", "doubt", "said"), CASES)
def test_the_service_s_time_decides_what_has_expired(keeper, way, is_good, doubt, said):
    now = datetime.now(UTC)
    until = now + timedelta(days=1 if is_good else -1)
    about = f"Valid until: {until:%Y-%m-%d %H:%M} +00:00"
    metadata = {"name": "Concert", "description": about}
    first, second = mint_outputs(keeper.api, "one", "two", metadata=metadata)
    page = keeper.page
    page.clock.set_system_time(now + timedelta(days=2 if way == "fast" else -2))
    keeper.go(f"/door#{first.split('.')[1]}")
    it_is = f"{now:%b} {now.day}, {now.year}, .+"
    wrong = "This phone's clock is wrong. The door uses the service's time"
    off = re.compile(f"^{wrong}: {it_is}.$")
    expect_text(page, "#ready-clock", off)
    press(page, "Start")
    expect_text(page, "#door [data-notices]", off)

    type_link(page, first)
    expect(page.locator(LAST)).to_contain_text([said])
    keeper.assert_good()

    # Where nobody tells the time, this phone's clock turns nothing away.
    cut_off(page, PATHS)
    page.reload()
    press(page, "Start")
    type_link(page, second)
    expect_text(page, LAST, [doubt])
    expect(page.locator("#door")).to_have_attribute("data-kind", "waiting")
    expect(page.locator("#queue-list li")).to_have_count(1)
    assert keeper.api.check(second) == ["unspent"]

    page.unroute_all(behavior="ignoreErrors")
    expect(page.locator(LAST)).to_contain_text([said])
    expect(page.locator("#queue-list li")).to_have_count(0)
    state = "spent" if is_good else "unspent"
    assert keeper.api.check(first, second) == [state, state]
