"""A commit that the disk refuses is surely undone, one that it may have kept is in doubt.

What a crash would leave is a copy of the files, in which SQLite reads the log again.
"""

import json

from tests.support.preloading import run_on_failing_disk

PROGRAM = """
import json, os, shutil
from app import create_app
from tests.support.requests import check, mint, swap

app = create_app()
client = app.test_client()
path = Path(os.environ["DATABASE_URL"].removeprefix("sqlite:///"))

def after_a_crash(number, outputs):
    copy = path.with_name(f"copy-{number}.sqlite3")
    for suffix in ("", "-wal"):
        shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
    os.environ["DATABASE_URL"] = f"sqlite:///{copy}"
    other = create_app()
    states = check(other.test_client(), *outputs)
    other.extensions["deeds"].close()
    return states

def swap_with(number, orders):
    item = mint(client, "+5.a")
    outputs = [f"+5.{item}.a", f"+5.{item}.b"]
    disk.write_text(orders)
    answer = swap(client, *([each] for each in outputs))
    disk.write_text("")
    states = check(client, *outputs), after_a_crash(number, outputs)
    again = swap(client, *([each] for each in outputs))
    return answer.get_json().get("code"), *states, again.status_code

tried = [swap_with(0, "w")]
while tried[-1][0] is not None:
    tried.append(swap_with(len(tried), "w" + "." * len(tried)))
print(json.dumps({"writes": tried, "sync": swap_with(len(tried), "s")}))
app.extensions["deeds"].close()
"""


def test_a_refused_write_undoes_the_commit_and_a_failed_fsync_leaves_it_in_doubt(tmp_path):
    url = f"sqlite:///{tmp_path / 'deeds.sqlite3'}"
    settings = {"DATABASE_URL": url, "DEEDS_ARGON2": "m=8,t=1,p=1", "DEEDS_LOG_LEVEL": "error"}

    tried = json.loads(run_on_failing_disk(PROGRAM, tmp_path, **settings))

    # The first, second … write to the log was refused, until there was no further one.
    *refused, done = tried["writes"]
    undone = ["unspent", "unknown"]
    assert refused == [["ledger_unavailable", undone, undone, 200]] * len(refused)
    assert len(refused) > 3
    assert done == [None, ["spent", "unspent"], ["spent", "unspent"], 400]
    code, _, after_a_crash, _ = tried["sync"]
    assert (code, after_a_crash) == ("ledger_in_doubt", ["spent", "unspent"])
