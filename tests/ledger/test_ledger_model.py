"""Random sequences of requests.

The ledger holds what a plain model of it holds, after each one.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import count, pairwise
from uuid import uuid4

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.support.api import SUCCESS, fresh, good, refusal, replayed
from tests.support.load import rounds
from tests.support.strong_secrets import make_strong_secret

AMOUNTS = st.lists(st.integers(1, 12), min_size=1, max_size=4)
NUMBERS = count()
# New ones of both classes, and some whose text a sloppy parser would cut.
SECRETS = st.sampled_from(["{}", "{}.é", ".{}", "+{}.deed_x.", "{} "]).map(
    lambda form: form.format(next(NUMBERS))
) | st.builds(make_strong_secret)
# Without a key, with one beyond guessing, with one that is hashed like a secret.
KEYS = st.none() | st.sampled_from(["{}", "order {}"]).map(
    lambda form: form.format(uuid4())
)
PATIENCE = hypothesis.settings(
    stateful_step_count=25,
    deadline=None,
    max_examples=8,
    database=None,
    # To shrink a failure takes minutes, and 25 steps can be read as they are.
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)

any_output = precondition(lambda self: self.states)
any_spent = precondition(lambda self: self.raws("spent"))
any_offer = precondition(lambda self: self.offers)
any_answer = precondition(lambda self: self.answers)


@dataclass
class Offer:
    """Half a swap, and the units that complete it."""

    id: str
    inputs: list[str]
    outputs: list[str]
    wanted: list[str]
    ended: str = ""


def totals_of(raws):
    totals = Counter()
    for raw in raws:
        amount, item_id, _ = raw[1:].split(".", 2)
        totals[item_id] += int(amount)
    return totals


class LedgerMachine(RuleBasedStateMachine):
    """Sends requests, good and bad, and keeps the model beside them."""

    def __init__(self, api, ledger):
        super().__init__()
        self.api = api
        self.ledger = ledger
        # The state of every raw output ever created, every answer given under a key
        # with its request, every offer.
        self.states = {}
        self.answers = {}
        self.offers = []

    def raws(self, state):
        return [raw for raw, its_state in self.states.items() if its_state == state]

    def state_of(self, offer):
        is_void = any(self.states[each] == "spent" for each in offer.inputs)
        return offer.ended or ("void" if is_void else "open")

    def some_live(self, data):
        live = st.sampled_from(self.raws("unspent"))
        return data.draw(st.lists(live, min_size=1, max_size=4, unique=True))

    def balanced(self, data, inputs):
        """Return outputs worth the inputs, each with a new secret."""
        outputs = []
        for item_id, total in totals_of(inputs).items():
            cuts = data.draw(st.sets(st.integers(1, total), max_size=3)) | {0, total}
            outputs += [
                f"+{end - start}.{item_id}.{data.draw(SECRETS)}"
                for start, end in pairwise(sorted(cuts))
            ]
        return outputs

    def accepted(self, path, body, key):
        answer = self.api.post(path, body, key)
        assert "Idempotency-Replayed" not in answer.headers
        if key:
            self.answers[key] = (path, body, answer.text)
        return good(answer)

    @rule(data=st.data(), amounts=AMOUNTS, key=KEYS)
    def mint(self, data, amounts, key):
        parts = [{"amount": each, "secret": data.draw(SECRETS)} for each in amounts]
        minted = self.accepted("/v1/mint", {"outputs": parts}, key)
        self.states |= dict.fromkeys(minted["rawOutputs"], "unspent")

    @any_output
    @rule(data=st.data(), key=KEYS)
    def swap(self, data, key):
        inputs = self.some_live(data)
        outputs = self.balanced(data, inputs)
        body = {"inputs": inputs, "outputs": outputs}
        assert self.accepted("/v1/swap", body, key) == SUCCESS
        self.states |= dict.fromkeys(inputs, "spent")
        self.states |= dict.fromkeys(outputs, "unspent")

    @any_output
    @rule(data=st.data(), gives=st.booleans())
    def make_an_offer(self, data, gives):
        wanted, given = self.some_live(data), self.some_live(data) if gives else []
        inputs = [each for each in given if each not in wanted]
        totals = totals_of(wanted)
        outputs = [fresh(total, item_id) for item_id, total in totals.items()]
        answer = self.api.offer(inputs, outputs)
        if totals - totals_of(inputs):
            offer_id = good(answer)["offerId"]
            self.offers.append(Offer(offer_id, inputs, outputs, wanted))
        else:
            assert refusal(answer) == (400, "not_an_offer", None)

    @any_offer
    @rule(data=st.data(), key=KEYS)
    def complete_an_offer(self, data, key):
        offer = data.draw(st.sampled_from(self.offers))
        outputs = self.balanced(data, offer.inputs)
        path = f"/v1/offers/{offer.id}/complete"
        body = {"inputs": offer.wanted, "outputs": outputs}
        if self.state_of(offer) != "open":
            answer = self.api.post(path, body)
            assert refusal(answer) == (400, "offer_not_open", None)
        elif any(self.states[each] == "spent" for each in offer.wanted):
            assert refusal(self.api.post(path, body))[:2] == (400, "spent_input")
        else:
            self.accepted(path, body, key)
            self.states |= dict.fromkeys(offer.inputs + offer.wanted, "spent")
            self.states |= dict.fromkeys(outputs + offer.outputs, "unspent")
            offer.ended = "completed"

    @any_offer
    @rule()
    def let_offers_expire(self):
        self.ledger.expire_offers()
        for each in self.offers:
            each.ended = each.ended or "expired"

    @any_answer
    @rule(data=st.data())
    def replay(self, data):
        key = data.draw(st.sampled_from(list(self.answers)))
        path, body, text = self.answers[key]
        answer = self.api.post(path, body, key)
        replayed(answer)
        assert answer.text == text

    # What is refused.

    def assert_refused(self, data, inputs, code, index):
        refused = self.api.swap(inputs, self.balanced(data, inputs))
        assert refusal(refused) == (400, code, index)

    @any_output
    @rule(data=st.data())
    def swap_with_a_wrong_secret(self, data):
        right, wrong = self.some_live(data), self.some_live(data)[0]
        inputs = [*right, wrong[:-1] + "~"]
        self.assert_refused(data, inputs, "unknown_input", len(right))

    @any_spent
    @rule(data=st.data())
    def spend_again(self, data):
        inputs = [data.draw(st.sampled_from(self.raws("spent"))), *self.some_live(data)]
        self.assert_refused(data, inputs, "spent_input", 0)

    @any_output
    @rule(data=st.data())
    def use_a_secret_again(self, data):
        source, *_ = self.some_live(data)
        amount, item_id, secret = source[1:].split(".", 2)
        used = [each.split(".", 2) for each in self.states if item_id in each]
        secrets = [each for _, _, each in used if each != secret]
        if secrets:
            output = f"+{amount}.{item_id}.{data.draw(st.sampled_from(secrets))}"
            assert refusal(self.api.swap(source, output)) == (400, "used_secret", 0)

    # What holds after every sequence: no later request mends a row.

    def teardown(self):
        self.ledger.assert_sound()
        for item_id, total in totals_of(self.raws("unspent")).items():
            read = self.api.get(f"/v1/item/{item_id}").json()
            assert read == {"id": item_id, "total": total, "metadata": None}
        for offer in self.offers:
            read = self.api.get(f"/v1/offers/{offer.id}").json()
            assert read["state"] == self.state_of(offer)

    @any_output
    @invariant()
    def the_states_are_those_of_the_model(self):
        assert self.api.check(*self.states) == list(self.states.values())


@pytest.fixture
def settings(settings):
    """Without a limit of failures: half of what the machine sends is refused."""
    return settings | {"DEEDS_RATE_LIMITS": "failures=off", "DEEDS_MAX_ARRAY": "1000"}


@pytest.mark.soak(share=1)
def test_the_ledger_holds_what_the_model_holds(api, ledger, seed, soak_seconds):
    """A check sends the same sequences each time, a soak others after them."""
    for number, _ in enumerate(rounds(seed, soak_seconds)):
        run_state_machine_as_test(
            lambda: LedgerMachine(api, ledger),
            settings=hypothesis.settings(PATIENCE, derandomize=number == 0),
        )
