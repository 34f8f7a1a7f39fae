"""Observes argon2-cffi's calls of the Argon2 library, below the service's code."""

from types import SimpleNamespace

from argon2 import low_level


class HashCosts(list[str]):
    """The cost of each evaluation of Argon2, in the order in which they begin."""

    # A function that is called once, before the next evaluation.
    meanwhile = None


def count_hashes(monkeypatch):
    """Return a list to which the cost of every evaluation from now on is added."""
    costs, evaluate = HashCosts(), low_level.lib.argon2_hash

    def counted(time_cost, memory_kib, parallelism, *rest):
        costs.append(f"m={memory_kib},t={time_cost},p={parallelism}")
        if meanwhile := costs.meanwhile:
            costs.meanwhile = None
            meanwhile()
        return evaluate(time_cost, memory_kib, parallelism, *rest)

    _replace(monkeypatch, counted)
    return costs


def refuse_memory(monkeypatch):
    """Make every evaluation fail for lack of memory."""
    failure = low_level.lib.ARGON2_MEMORY_ALLOCATION_ERROR
    _replace(monkeypatch, lambda *_: failure)


def _replace(monkeypatch, argon2_hash):
    names = {name: getattr(low_level.lib, name) for name in dir(low_level.lib)}
    library = SimpleNamespace(**names | {"argon2_hash": argon2_hash})
    monkeypatch.setattr(low_level, "lib", library)
