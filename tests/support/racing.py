"""Sends the requests of many clients at the same moment."""

import threading
from concurrent.futures import ThreadPoolExecutor

from tests.support.api import good
from tests.support.strong_secrets import make_strong_secret

START_SECONDS_MAX = 60


def at_once(calls):
    """Make all calls at the same moment, in threads of their own.

    Return their results.
    """
    start = threading.Barrier(len(calls))

    def run(call):
        start.wait(START_SECONDS_MAX)
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def race(requests):
    """Send all requests at the same moment; return the outcome of each."""
    return [outcome_of(answer) for answer in at_once(requests)]


def outcome_of(answer):
    """Return the status, code and index of an answer; None for what it lacks."""
    body = answer.json()
    return answer.status_code, body.get("code"), body.get("index")


def mint_strong(api, *amounts):
    """Mint an item with strong secrets; return its id and its raw outputs.

    They need no slow hashing, so that requests meet in the ledger and not in the queue
    before it.
    """
    outputs = [f"+{amount}.{make_strong_secret()}" for amount in amounts]
    minted = good(api.send_mint(*outputs))
    return minted["itemId"], minted["rawOutputs"]
