"""A claim that cannot be made now, or not at all, and what the page says of it."""

import pytest

from tests.page.claim_steps import focused, mint, spend, states, take, wait_for_rows
from tests.page.kept import kept_operations
from tests.page.samples import SHED
from tests.support.waiting import wait_until


def test_whoever_was_faster_leaves_a_clear_word(visitor):
    [raw] = mint(visitor.origin, "secret")
    page = visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")

    spend(visitor.origin, raw)
    take(page)

    wait_for_rows(page, "spent")
    wait_until(lambda: focused(page) == "claim-error")
    assert page.locator("#claim-error").inner_text().startswith("These units were taken already.")
    assert not page.get_by_role("button", name="Take custody").is_visible()
    assert kept_operations(page) == [("claim", "refused")]


@pytest.mark.parametrize("code", ["overloaded", "too_many_requests", "ledger_unavailable"])
def test_a_busy_service_is_asked_again_no_sooner_than_it_says(visitor, code):
    [raw] = mint(visitor.origin, "secret")
    page = visitor.page
    page.clock.install()
    keys = []

    def answer(route):
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            problem = {"code": code, "status": 503}
            route.fulfill(status=503, json=problem, headers={"Retry-After": "40"})
        else:
            route.continue_()

    page.route("**/v1/swap", answer)
    visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")
    take(page)
    wait_for_rows(page, "busy")
    page.get_by_text("It is sent again.").wait_for()
    page.clock.run_for(39_000)
    page.evaluate("0")
    assert len(keys) == 1
    page.clock.run_for(2_000)

    page.get_by_role("heading", name="Yours now").wait_for()
    assert len(keys) == 2
    assert len(set(keys)) == 1


def test_a_service_that_cannot_be_asked_for_the_state_is_asked_again(visitor):
    [raw] = mint(visitor.origin, "secret")
    page = visitor.page
    page.clock.install()
    problem = {"code": "too_many_failures", "status": 429}
    page.route(
        "**/v1/check",
        lambda route: route.fulfill(status=429, json=problem, headers={"Retry-After": "40"}),
    )

    visitor.go(f"/claim#{raw}")
    page.get_by_text("Too many wrong secrets came from your network.").wait_for()
    assert page.locator(".found").get_by_role("heading").inner_text() == SHED["name"]
    assert not page.get_by_role("button", name="Take custody").is_visible()
    page.unroute("**/v1/check")
    page.clock.run_for(41_000)

    wait_for_rows(page, "free")


# Puts into a database of its own whatever still fits, in smaller and smaller pieces.
FILL_UP = """async () => {
  const opening = indexedDB.open("ballast");
  opening.onupgradeneeded = () => opening.result.createObjectStore("all", { autoIncrement: true });
  await new Promise((resolve) => { opening.onsuccess = resolve; });
  const put = (length) => new Promise((resolve) => {
    const transaction = opening.result.transaction("all", "readwrite");
    transaction.oncomplete = () => resolve(true);
    transaction.onabort = () => resolve(false);
    transaction.objectStore("all").put("-".repeat(length));
  });
  let length = 100_000;
  while (length >= 1) if (!(await put(length))) length /= 2;
}"""


def test_without_room_on_the_device_nothing_is_sent_until_there_is_some(visitor):
    [raw] = mint(visitor.origin, "secret")
    page = visitor.go(f"/claim#{raw}")
    wait_for_rows(page, "free")
    browser = visitor.context.new_cdp_session(page)
    room = {"origin": visitor.origin, "quotaSize": 300_000}
    browser.send("Storage.overrideQuotaForOrigin", room)
    page.evaluate(FILL_UP)

    take(page)
    page.get_by_text("This device has no room left").wait_for()
    assert [url for url in visitor.requests if url.endswith("/v1/swap")] == []
    assert states(visitor, [raw]) == ["unspent"]
    assert focused(page) == "claim-error"
    browser.detach()
    take(page)

    wait_for_rows(page, "taken")
    assert not page.locator("#claim-error").is_visible()


def test_a_browser_that_makes_no_secrets_shows_the_deed_and_says_why_no_more(visitor):
    [raw] = mint(visitor.origin, "secret")
    # A name that is not this machine's own: what comes from there by http is not trusted.
    visitor.origin = visitor.origin.replace("127.0.0.1", "deeds.test")

    page = visitor.go(f"/claim#{raw}")

    page.get_by_text("This page did not come by https").wait_for()
    page.get_by_text("Not asked: that would send the secret unprotected.").wait_for()
    assert page.locator(".found").get_by_role("heading").inner_text() == SHED["name"]
    assert not page.get_by_role("button", name="Take custody").is_visible()
    assert page.url == f"{visitor.origin}/claim"
    assert [url for url in visitor.requests if "/v1/check" in url] == []
