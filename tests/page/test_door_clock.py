"""A phone whose clock is two days off, at the door of tickets with an end."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.page.steps import expect_text, mint_outputs, press
from tests.page.test_door import LAST, WAITING, type_link
from tests.page.visitor import cut_off, visiting


@pytest.mark.slow
def test_the_service_s_time_decides_what_has_expired(browser, web_service):
    now = datetime.now(UTC)
    until = now + timedelta(days=1)
    about = f"Valid until: {until:%Y-%m-%d %H:%M} +00:00"
    metadata = {"name": "Concert", "description": about}
    wrong = "This phone's clock is wrong. The door uses the service's time"
    off = re.compile(f"^{wrong}: {now:%b} {now.day}, {now.year}, .+.$")
    with visiting(browser, web_service.url) as keeper:
        first, second = mint_outputs(keeper.api, "one", "two", metadata=metadata)
        page = keeper.page
        page.clock.set_system_time(now + timedelta(days=2))
        keeper.go(f"/door#{first.split('.')[1]}")
        expect_text(page, "#ready-clock", off)
        press(page, "Start")
        expect_text(page, "#door [data-notices]", off)
        type_link(page, first)
        expect_text(page, LAST, ["Valid, 5"])
        keeper.assert_good()

        # Where nobody tells the time, this phone's clock turns nothing away.
        cut_off(page, "**/{v1,web/qr}**")
        page.reload()
        press(page, "Start")
        type_link(page, second)
        expect_text(page, LAST, ["Expired, if this phone's clock is right"])
        expect(page.locator(WAITING)).to_have_count(1)
        assert keeper.api.check(second) == ["unspent"]

        page.unroute_all(behavior="ignoreErrors")
        expect_text(page, LAST, ["Valid, 5"])
        expect(page.locator(WAITING)).to_have_count(0)
        assert keeper.api.check(first, second) == ["spent", "spent"]
