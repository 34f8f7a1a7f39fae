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


def test_a_request_cut_off_at_its_commit_is_carried_out_once(sender, failpoint, database_url):
    for moment, is_done in MOMENTS.items():
        mint = ("/v1/mint", {"outputs": [f"+5.{make_strong_secret()}"]}, str(uuid4()))
        die_while_sending(sender, failpoint, moment, mint)
        minted, again = sender.send(*mint), sender.send(*mint)
        assert minted.answer == again.answer
        assert (minted.is_replay, again.is_replay) == (is_done, True)

        item, inputs = minted.answer["itemId"], minted.answer["rawOutputs"]
        outputs = [f"+{amount}.{item}.{make_strong_secret()}" for amount in (2, 3)]
        swap = ("/v1/swap", {"inputs": inputs, "outputs": outputs}, str(uuid4()))
        die_while_sending(sender, failpoint, moment, swap)
        found = sender.check([*inputs, *outputs])
        swapped, again = sender.send(*swap), sender.send(*swap)
        done = ["spent", "unspent", "unspent"]
        assert found == (done if is_done else ["unspent", "unknown", "unknown"])
        assert swapped.answer == again.answer == {"success": True}
        assert (swapped.is_replay, again.is_replay) == (is_done, True)
        assert sender.check([*inputs, *outputs]) == done
    assert operations(database_url) == [("mint", 0, 1), ("swap", 1, 2)] * len(MOMENTS)
