"""The service as programs use it, over lines that lose requests and answers."""

import pytest

from deeds_client.service import Deeds
from deeds_client.values import NewOutput, Output, Units


@pytest.fixture
def url(gunicorn_service, sqlite_url):
    return gunicorn_service(DATABASE_URL=sqlite_url).url


def test_units_are_minted_swapped_and_traded(url):
    with Deeds(url) as deeds:
        minted = deeds.mint([5, NewOutput(2, "s3cret")], name="Night Choir")
        five, two = minted.outputs
        fresh = [Output.fresh(3, minted.item_id), Output.fresh(2, minted.item_id)]
        deeds.swap([five], fresh)
        till = Output.fresh(2, minted.item_id)
        offer = deeds.make_offer([], [till], expires_in=60)
        deeds.complete(offer.id, [two], [])

        assert deeds.check([five, two, *fresh, till]) == ["spent", "spent", *["unspent"] * 3]
        assert (offer.state, offer.wants) == ("open", (Units(minted.item_id, 2),))
        assert deeds.offer(offer.id).state == "completed"
        assert (deeds.item(minted.item_id).name, deeds.item(minted.item_id).total) == (
            "Night Choir",
            7,
        )
