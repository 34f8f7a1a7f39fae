"""Breaks the ledger in every small way and tells which breaks no test notices: `make mutants`.

mutmut writes the mutants; tests/mutant_judge.py judges each in a process of its own. mutmut's own
runner calls pytest again in one process, where ours cannot find some tests: it then counts every
mutant as killed. What SQLite's tests do not notice is judged again by those on PostgreSQL.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from time import monotonic

from tests.mutant_sources import MUTANTS, change_of, make_mutants, module_of, mutant_names, title_of
from tests.mutant_tests import FILES
from tests.postgres import running_cluster
from tests.serving import REPOSITORY

EXPLAINED = REPOSITORY / "docs" / "mutants.md"
STAGES = ("sqlite", "postgresql")


def main():
    parser = argparse.ArgumentParser(prog="make mutants")
    parser.add_argument("only", nargs="*", default=[""], help="what names of mutants begin with")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--each", type=float, default=float("inf"), help="seconds for a mutant")
    parser.add_argument("--believe", action="store_true", help="what survived once, survives")
    arguments = parser.parse_args()
    deadline_s = monotonic() + arguments.seconds
    make_mutants()
    names = [name for name in mutant_names() if name.startswith(tuple(arguments.only))]
    outcomes = dict.fromkeys(names, "not judged")
    left = names
    with running_cluster() as cluster:
        for stage in STAGES:
            if not left or monotonic() > deadline_s:
                break
            url = cluster.create_database()
            failed = judge(
                stage, left, [deadline_s - monotonic(), arguments.each, arguments.believe], url
            )
            outcomes |= {name: "killed" if test else "survived" for name, test in failed.items()}
            left = [name for name, test in failed.items() if not test]
            if stage != STAGES[-1]:
                outcomes |= dict.fromkeys(left, "not judged")
    return report(outcomes)


def judge(stage, names, limits, database_url):
    """Return for each mutant which test fails with it, as far as there was time."""
    print(f"{len(names)} to judge on {stage}", flush=True)
    failed = {}
    command = [sys.executable, "-m", "tests.mutant_judge", stage, *map(str, limits)]
    with subprocess.Popen(
        [*command, *(f"tests/test_{name}.py" for name in FILES)],
        cwd=MUTANTS,
        env=os.environ
        | {"MUTANT_UNDER_TEST": "", "PYTHONDONTWRITEBYTECODE": "1"}
        | {"TEST_DATABASE_URL": database_url},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdin.write("\n".join(names))
        process.stdin.close()
        for line in process.stdout:
            name, test = json.loads(line)
            failed[name] = test
            if not test:
                print("\n".join([f"survived: {title_of(name)}", *change_of(name)]), flush=True)
    if process.returncode:
        raise SystemExit("the tests cannot be run, or fail without a mutant")
    return failed


def report(outcomes):
    """Print the counts and what is not explained in the document; return 1 if there is any."""
    explained = " ".join(EXPLAINED.read_text(encoding="utf-8").split())
    counts = {module: Counter() for module in map(module_of, outcomes)}
    unexplained = []
    for name, outcome in outcomes.items():
        counts[module_of(name)].update(["mutants", outcome])
        if outcome != "killed" and f"`{title_of(name)}`" not in explained:
            unexplained.append(f"{outcome}, not explained in {EXPLAINED.name}: `{title_of(name)}`")
    for module, count in counts.items():
        print(f"{module}: {', '.join(f'{number} {what}' for what, number in count.items())}")
    print("\n".join(unexplained))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
