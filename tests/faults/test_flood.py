"""One client's flood of ordinary secrets does not lock out other clients."""

from tests.support.api import Api, refusal
from tests.support.databases import on_sqlite
from tests.support.strong_secrets import make_strong_secret
from tests.support.waiting import wait_until


@on_sqlite
def test_one_client_that_hashes_much_locks_out_no_other_and_no_strong_secret(
    settings, open_app, monkeypatch, hash_costs, thread
):
    # One client may use three quarters of the queue: here one place of two.
    monkeypatch.setattr("app.HASH_REQUESTS_MAX", 2)
    app = open_app(settings)
    flooding, other = Api.of_app(app), Api.of_app(app, "192.0.2.1")
    sent = []

    def send_meanwhile():
        strong = f"+1.{make_strong_secret()}"
        sent.append(thread.submit(flooding.send_mint, "+1.a"))
        sent.append(thread.submit(flooding.send_mint, strong))
        sent.append(thread.submit(other.send_mint, "+1.a"))
        wait_until(sent[1].done)
        # The request of the other client has the last place, or was refused.
        wait_until(lambda: sent[2].done() or flooding.get("/readyz").status_code == 503)

    hash_costs.meanwhile = send_meanwhile
    first = flooding.send_mint("+1.a")

    refused, *served = [each.result(20) for each in sent]
    assert refusal(refused) == (503, "overloaded", None)
    assert [each.status_code for each in (first, *served)] == [200] * 3
