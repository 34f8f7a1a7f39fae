"""POST /v1/offers/find (contract 4.10): secrets that offers have named.

What it refuses is in test_find.py.
"""

import time

from tests.support.api import fresh, good

WEEK_NS = 7 * 24 * 60 * 60 * 10**9


def test_a_secret_was_offered_whatever_became_of_its_offers(api, ledger, monkeypatch):
    item = api.mint("+5.hers", "+5.his", "+4.change")
    completed, withdrawn, used, opened, change = (fresh(5, item) for _ in range(5))
    offer_id = api.offer_id([], completed)
    api.offer_id(f"+5.{item}.hers", [withdrawn, fresh(1, item)])
    for _ in range(2):
        api.offer_id([], used)
    api.offer_id(f"+4.{item}.change", [opened, change])
    good(api.complete(offer_id, f"+5.{item}.his", []))
    good(api.swap(f"+5.{item}.hers", used))
    later_ns = time.time_ns() + WEEK_NS

    with ledger.unchanged():
        now = api.are_offered(completed, withdrawn, used, opened, change)
        monkeypatch.setattr(time, "time_ns", lambda: later_ns)
        expired = api.are_offered(withdrawn, used, opened, change)

    assert (now, expired) == ([True] * 5, [True] * 4)


def test_only_outputs_of_offers_of_that_item_were_offered(api):
    item, other = api.mint("+5.a", "+1.b"), api.mint("+5.a")
    wanted, given, never = (fresh(5, item) for _ in range(3))
    good(api.swap(f"+5.{item}.a", given))
    api.offer_id(given, [wanted, fresh(1, item)])

    offered = api.are_offered(never, wanted, given, wanted)
    elsewhere = api.are_offered(wanted.replace(item, other))

    assert offered == [False, True, False, True]
    assert elsewhere == [False]
