"""A flood of ordinary secrets of one client turns away no other client."""

from tests.support.api import Api, good, refusal
from tests.support.databases import on_sqlite
from tests.support.strong_secrets import make_strong_secret


@on_sqlite
def test_one_client_that_hashes_much_turns_away_no_other_and_no_strong_secret(
    settings, open_app, monkeypatch, hash_costs
):
    # One client may have three quarters of them.
    monkeypatch.setattr("app.HASH_REQUESTS_MAX", 2)
    app = open_app(settings)
    flooding, other = Api.of_app(app), Api.of_app(app, "192.0.2.1")
    answers = []

    def ask_meanwhile():
        answers.append(flooding.send_mint("+1.a"))
        answers.append(flooding.send_mint(f"+1.{make_strong_secret()}"))
        answers.append(other.send_mint("+1.a"))

    hash_costs.meanwhile = ask_meanwhile
    good(flooding.send_mint("+1.a"))

    refused, *served = answers
    assert refusal(refused) == (503, "overloaded", None)
    assert [each.status_code for each in served] == [200, 200]
