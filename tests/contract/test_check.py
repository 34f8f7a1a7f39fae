"""POST /v1/check (contract 4.4).

What its body may hold is in test_request_schemas.py.
"""

from tests.support.api import good
from tests.support.strong_secrets import make_strong_secret

STRONG = make_strong_secret()


def test_states_come_in_the_order_of_the_request_and_nothing_changes(api, ledger):
    one, other = api.mint("+5.a", "+3.b", f"+4.{STRONG}"), api.mint("+7.a")
    api.swap(f"+5.{one}.a", [f"+2.{one}.c", f"+3.{one}.d"])
    states = {
        f"+5.{one}.a": "spent",
        f"+3.{one}.b": "unspent",
        f"+7.{other}.a": "unspent",
        f"+4.{one}.{STRONG}": "unspent",
        f"+2.{one}.c": "unspent",
        # Another amount, secret or item.
        f"+3.{one}.a": "unknown",
        f"+3.{one}. b": "unknown",
        f"+3.{one}.b.": "unknown",
        f"+3.{other}.b": "unknown",
        f"+4.{one}.{STRONG.upper()}": "unknown",
        f"+4.{one}.{make_strong_secret()}": "unknown",
        "+5.deed_00000000000000000000000000.a": "unknown",
        "+5.deed_x'--.a": "unknown",
        "+5.deed_é\0.a": "unknown",
    }

    with ledger.unchanged():
        answer = api.send_check(*states, f"+5.{one}.a")

    assert good(answer) == {"states": [*states.values(), "spent"]}
