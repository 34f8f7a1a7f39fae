"""The service dies while units move.

The next visit finishes it, and nothing is lost.
"""

import pytest

from deeds.raw_output import is_strong_secret, parse_raw_output
from tests.page.steps import (
    claim_link,
    expect_shown,
    mint_outputs,
    operations,
    press,
    raws,
)
from tests.page.visitor import visiting
from tests.support.applications import AFTER_COMMIT
from tests.support.waiting import wait_until


@pytest.fixture
def visitor(browser, port):
    with visiting(browser, f"http://127.0.0.1:{port}") as visitor:
        yield visitor


@pytest.mark.slow
def test_a_claim_whose_tab_is_closed_is_finished_by_the_next_visit(
    life, visitor, tmp_path, ledger
):
    # Names the moment of a commit at which the service is held until it is killed.
    hold_file = tmp_path / "hold"
    with life():
        [raw] = mint_outputs(visitor.api, "secret")
        page = visitor.go(claim_link("", raw))
        hold_file.write_text(AFTER_COMMIT)
        press(page, "Claim")
        wait_until(lambda: not hold_file.exists())
        page.close()

    with life():
        page = visitor.open_tab("/mint")
        expect_shown(page, "Finished since your last visit")
        assert operations(page) == [("claim", "done")]
        [held] = raws(page, "held")
        assert is_strong_secret(parse_raw_output(held).secret)
        assert raws(page, "spent") == [raw]
        assert visitor.api.check(raw, held) == ["spent", "unspent"]
        assert ledger.operations() == [("mint", 0, 1), ("swap", 1, 1)]

    [_, again] = visitor.asked("/v1/swap")
    assert again.response().headers.get("idempotency-replayed") == "true"
