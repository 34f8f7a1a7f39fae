"""The service dies just before a commit, or between it and the answer; the client asks again."""

from contextlib import closing
from uuid import uuid4

import pytest

from deeds.domain.raw_output import make_strong_secret
from tests.faults.journal import CUT_OFF, Sender
from tests.faults.load import operations
from tests.support.at_commit import AFTER_COMMIT, BEFORE_COMMIT

APPLICATION = "tests.support.at_commit:create_failing_app()"

# Whether the request was carried out by then.
MOMENTS = {BEFORE_COMMIT: False, AFTER_COMMIT: True}


@pytest.fixture
def failpoint(tmp_path):
    return tmp_path / "failpoint"


@pytest.fixture
def sender(database_url, make_service, failpoint):
    service = make_service(database_url, APPLICATION, workers=1, FAILPOINT_FILE=str(failpoint))
    service.start()
    with closing(Sender(service.find_port)) as sender:
        yield sender


def die_while_sending(sender, failpoint, moment, request):
    """Send a request that the process does not survive; gunicorn starts another one."""
    failpoint.write_text(moment)
    with pytest.raises(CUT_OFF):
        sender.send(*request)
    assert not failpoint.exists()


def test_a_swap_cut_off_at_its_commit_is_one_swap_after_the_retry(sender, failpoint, database_url):
    for moment, is_done in MOMENTS.items():
        a, b, c = (make_strong_secret() for _ in range(3))
        item = sender.send("/v1/mint", {"outputs": [f"+5.{a}"]}).answer["itemId"]
        inputs, outputs = [f"+5.{item}.{a}"], [f"+2.{item}.{b}", f"+3.{item}.{c}"]
        request = ("/v1/swap", {"inputs": inputs, "outputs": outputs}, str(uuid4()))

        die_while_sending(sender, failpoint, moment, request)
        found = sender.check([*inputs, *outputs])
        first, second = sender.send(*request), sender.send(*request)

        assert found == (
            ["spent", "unspent", "unspent"] if is_done else ["unspent", "unknown", "unknown"]
        )
        assert first.answer == second.answer == {"success": True}
        assert (first.is_replay, second.is_replay) == (is_done, True)
        assert sender.check([*inputs, *outputs]) == ["spent", "unspent", "unspent"]
    assert operations(database_url) == [("mint", 0, 1), ("swap", 1, 2)] * len(MOMENTS)


def test_a_mint_cut_off_at_its_commit_is_one_item_after_the_retry(sender, failpoint, database_url):
    for moment, is_done in MOMENTS.items():
        request = ("/v1/mint", {"outputs": [f"+5.{make_strong_secret()}"]}, str(uuid4()))

        die_while_sending(sender, failpoint, moment, request)
        first, second = sender.send(*request), sender.send(*request)

        assert first.answer == second.answer
        assert (first.is_replay, second.is_replay) == (is_done, True)
        assert sender.check(first.answer["rawOutputs"]) == ["unspent"]
    assert operations(database_url) == [("mint", 0, 1)] * len(MOMENTS)
