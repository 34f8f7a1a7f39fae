"""What is answered is on the disk: one fsync for each commit on SQLite, and none for a read."""

import json

from tests.support.preloading import run_counting_fsyncs

PROGRAM = """
import json
import storage.mark
from app import create_app
from tests.support.requests import check, mint, swap

# The mark is flushed too, but once a second at most.
storage.mark._WRITE_EVERY_S = 3600
app = create_app()
client = app.test_client()

def counted(action):
    before = fsyncs_count()
    action()
    return fsyncs_count() - before

item_id = mint(client, *(f"+1.{n}" for n in range(9)))
# The first commit after a start may also write the head of the log.
swap(client, [f"+1.{item_id}.8"], [f"+1.{item_id}.moved 8"])

def swap_4(status):
    for n in range(4):
        answer = swap(client, [f"+1.{item_id}.{n}"], [f"+1.{item_id}.{status} {n}"])
        assert answer.status_code == status

print(json.dumps({
    "4 swaps": counted(lambda: swap_4(200)),
    "a mint of 20": counted(lambda: mint(client, *(f"+1.{n}" for n in range(20)))),
    "4 refused swaps": counted(lambda: swap_4(400)),
    "a check": counted(lambda: check(client, f"+1.{item_id}.4")),
    "an item": counted(lambda: client.get(f"/v1/item/{item_id}")),
}))
app.extensions["deeds"].close()
"""


def test_each_commit_is_one_fsync_and_nothing_else_is(tmp_path):
    url = f"sqlite:///{tmp_path / 'deeds.sqlite3'}"

    assert json.loads(run_counting_fsyncs(PROGRAM, tmp_path, DATABASE_URL=url)) == {
        "4 swaps": 4,
        "a mint of 20": 1,
        "4 refused swaps": 0,
        "a check": 0,
        "an item": 0,
    }
