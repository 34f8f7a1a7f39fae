"""Breaks the ledger in every small way and tells which breaks no test notices: `make mutants`.

mutmut writes the mutants; each is judged here by a pytest of its own. mutmut's own runner calls
pytest again in one process, where ours cannot find some tests: it then counts every mutant as
killed. So nothing but a failed test (exit code 1) counts as killed here, and tests that fail
without a mutant, or cannot be run, stop everything.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.postgres import running_cluster
from tests.serving import REPOSITORY

MUTANTS = REPOSITORY / "mutants"
EXPLAINED = REPOSITORY / "docs" / "mutants.md"
PROCESSES_COUNT = 2
RUN_SECONDS_MAX = 180
FAST = "not postgresql and not processes"

SWAPS = ["swap", "swap_refusals", "hash_schemes", "mint", "check", "peppers", "swap_counts"]
WRITES = ["swap", "swap_refusals", "mint", "idempotency", "hash_schemes", "peppers", "ledger_model"]
TESTS = {
    "deeds.locator": SWAPS,
    "deeds.raw_output": ["refusal_texts", "raw_output"],
    "deeds.rules": ["refusal_texts", "rules", "swap_refusals"],
    "deeds.strong_secret": ["strong_secret"],
    "deeds.swap_hashing": SWAPS,
    "storage.group_writer": ["group_writer", "sqlite_trouble", "broken_transactions"],
    "storage.operations": WRITES,
    "storage.outputs": [*WRITES, "postgres_conflicts"],
    "storage.statements": [*WRITES, "scheme_book"],
}

# What SQLite's tests cannot tell is judged again by those on PostgreSQL.
POSTGRES_TESTS = ["postgres_conflicts", "idempotency_races", "peppers", "hash_schemes", "swap"]
ON_POSTGRES = {"storage.operations", "storage.outputs", "storage.statements"}

SURVIVED, KILLED = 0, 1


def main(only: str = "") -> int:
    """Judge all mutants whose name begins with `only`; return 1 if one survives unexplained."""
    make_mutants()
    names = [name for name in mutant_names() if name.startswith(only)]
    modules = sorted({module_of(name) for name in names})
    for module in modules:
        assert judge("", module) == SURVIVED, f"the tests of {module} fail without a mutant"
    alive = survivors(names, judge)
    with running_cluster() as cluster:
        url = cluster.create_database()
        on_postgres = partial(judge, database_url=url)
        asked = [name for name in alive if module_of(name) in ON_POSTGRES]
        for module in sorted({module_of(name) for name in asked}):
            assert on_postgres("", module) == SURVIVED, f"{module} fails on PostgreSQL"
        killed = set(asked) - set(survivors(asked, on_postgres))
    return report(names, [name for name in alive if name not in killed])


def make_mutants() -> None:
    """Let mutmut write the mutated copy of the sources, without judging them."""
    code = (
        "from mutmut import __main__ as m; m.set_mutant_under_test('mutant_generation'); "
        "m.Path('mutants').mkdir(exist_ok=True); m.copy_src_dir(); m.copy_also_copy_files(); "
        "m.setup_source_paths(); m.create_mutants(1)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, check=True, capture_output=True)


def mutant_names() -> list[str]:
    metas = sorted(MUTANTS.rglob("*.py.meta"))
    return [name for meta in metas for name in json.loads(meta.read_text())["exit_code_by_key"]]


def module_of(name: str) -> str:
    return name.rpartition(".")[0]


def judge(name: str, module: str = "", *, database_url: str = "") -> int:
    """Run the tests of the mutant's module with the mutant, or with none."""
    files = POSTGRES_TESTS if database_url else TESTS[module or module_of(name)]
    chosen = "postgresql or conflicts or races" if database_url else FAST
    command = [sys.executable, "-m", "pytest", "-x", "-qq", "-p", "no:cacheprovider", "-k", chosen]
    environment = os.environ | {"MUTANT_UNDER_TEST": name, "PYTHONDONTWRITEBYTECODE": "1"}
    if database_url:
        environment["TEST_DATABASE_URL"] = database_url
    try:
        ran = subprocess.run(
            [*command, *(f"tests/test_{file}.py" for file in files)],
            cwd=MUTANTS,
            env=environment,
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS_MAX,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return KILLED
    if ran.returncode not in (SURVIVED, KILLED):
        raise SystemExit(f"the tests cannot be run with {name or module}:\n{ran.stdout[-2000:]}")
    return ran.returncode


def survivors(names, judge_one):
    """Return those that no test notices; show how far it is."""
    with ThreadPoolExecutor(PROCESSES_COUNT) as pool:
        alive = []
        for count, (name, code) in enumerate(
            zip(names, pool.map(judge_one, names), strict=True), start=1
        ):
            if code == SURVIVED:
                alive.append(name)
                print(f"survived: {name}", flush=True)
            if count % 10 == 0:
                print(f"{count} of {len(names)}, {len(alive)} survived", flush=True)
    return alive


def report(names: list[str], alive: list[str]) -> int:
    """Print the counts, and what is not explained in the document."""
    explained = EXPLAINED.read_text(encoding="utf-8") if EXPLAINED.exists() else ""
    total, left = Counter(map(module_of, names)), Counter(map(module_of, alive))
    for module, count in sorted(total.items()):
        print(f"{module}: {count} mutants, {count - left[module]} killed, {left[module]} survived")
    unexplained = [name for name in alive if f"`{name}`" not in explained]
    for name in unexplained:
        print(f"not explained in {EXPLAINED.name}: {name}")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
