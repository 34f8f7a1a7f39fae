"""Random sequences of requests.

The ledger holds what a plain model of it holds, after each one.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
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

from deeds.domain.raw_output import make_strong_secret
from deeds.settings import RateLimits
from tests.support.requests import check, post, refusal, swap

AMOUNTS = st.integers(1, 12)
# Of both classes, and some whose text a sloppy parser would cut.
SECRET_FORMS = st.sampled_from(["{}", "{}.é", ".{}", "+{}.deed_x.", "{} ", "strong"])
# Without a key, with one beyond guessing, with one that is hashed like a secret.
KEY_FORMS = st.sampled_from([None, "{}", "order {}"])
PATIENCE = hypothesis.settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    database=None,
    # To shrink a failure takes minutes, and 25 steps can be read as they are.
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)

any_live = precondition(lambda self: self.live())
any_spent = precondition(lambda self: self.live() and self.spent())
any_offer = precondition(lambda self: self.offers)
any_answer = precondition(lambda self: self.answers)


@dataclass
class Units:
    """Units of an item under a secret."""

    item_id: str
    secret: str
    amount: int
    is_spent: bool = False

    def raw(self):
        return f"+{self.amount}.{self.item_id}.{self.secret}"


@dataclass
class Offer:
    """Half a swap of such units, and the units that complete it."""

    path: str
    inputs: list[Units]
    outputs: list[Units]
    wanted: list[Units]
    ended: str = ""

    def state(self):
        is_void = any(each.is_spent for each in self.inputs)
        return self.ended or ("void" if is_void else "open")


def totals_of(outputs):
    totals = defaultdict(int)
    for each in outputs:
        totals[each.item_id] += each.amount
    return totals


def raws_of(outputs):
    return [each.raw() for each in outputs]


class LedgerMachine(RuleBasedStateMachine):
    """Sends requests, good and bad, and keeps the model beside them."""

    def __init__(self, client, ledger):
        super().__init__()
        self.client = client
        self.ledger = ledger
        # Every item with its total, every output ever created, every answer given under
        # a key.
        self.totals = {}
        self.outputs = {}
        self.answers = {}
        self.offers = []
        self.numbers = count()

    def create(self, outputs):
        for each in outputs:
            assert (each.item_id, each.secret) not in self.outputs
            self.outputs[each.item_id, each.secret] = each

    def live(self):
        return [each for each in self.outputs.values() if not each.is_spent]

    def spent(self):
        return [each for each in self.outputs.values() if each.is_spent]

    def new_secret(self, data):
        form = data.draw(SECRET_FORMS)
        return (
            make_strong_secret()
            if form == "strong"
            else form.format(next(self.numbers))
        )

    def some_live(self, data):
        outputs = self.live()
        picked = data.draw(
            st.sets(st.integers(0, len(outputs) - 1), min_size=1, max_size=4)
        )
        return [outputs[index] for index in sorted(picked)]

    def parts(self, data, item_id, total):
        """Return outputs that add up to the total, each with a new secret."""
        cuts = (
            data.draw(st.sets(st.integers(1, total - 1), max_size=3))
            if total > 1
            else set()
        )
        edges = [0, *sorted(cuts), total]
        amounts = [end - start for start, end in pairwise(edges)]
        return [Units(item_id, self.new_secret(data), amount) for amount in amounts]

    def balanced(self, data, inputs):
        return [
            part
            for item in totals_of(inputs).items()
            for part in self.parts(data, *item)
        ]

    @rule(
        data=st.data(), amounts=st.lists(AMOUNTS, min_size=1, max_size=4), key=KEY_FORMS
    )
    def mint(self, data, amounts, key):
        parts = [
            {"amount": amount, "secret": self.new_secret(data)} for amount in amounts
        ]
        answer = self.accepted("/v1/mint", {"outputs": parts}, key)
        item_id = answer.get_json()["itemId"]
        self.totals[item_id] = sum(amounts)
        self.create(Units(item_id, **part) for part in parts)

    @any_live
    @rule(data=st.data(), key=KEY_FORMS)
    def swap(self, data, key):
        inputs = self.some_live(data)
        outputs = self.balanced(data, inputs)
        body = {"inputs": raws_of(inputs), "outputs": raws_of(outputs)}
        assert self.accepted("/v1/swap", body, key).get_json() == {"success": True}
        for each in inputs:
            each.is_spent = True
        self.create(outputs)

    @any_live
    @rule(data=st.data(), gives=st.booleans())
    def make_an_offer(self, data, gives):
        wanted, given = self.some_live(data), self.some_live(data) if gives else []
        inputs = [each for each in given if each not in wanted]
        totals = totals_of(wanted)
        outputs = [
            Units(item_id, make_strong_secret(), n) for item_id, n in totals.items()
        ]
        body = {"inputs": raws_of(inputs), "outputs": raws_of(outputs)}
        answer = post(self.client, "/v1/offers", body)
        if Counter(totals) - Counter(totals_of(inputs)):
            path = f"/v1/offers/{answer.get_json()['offerId']}"
            self.offers.append(Offer(path, inputs, outputs, wanted))
        else:
            assert refusal(answer) == (400, "not_an_offer", None)

    @any_offer
    @rule(data=st.data(), key=KEY_FORMS)
    def complete_an_offer(self, data, key):
        offer = data.draw(st.sampled_from(self.offers))
        outputs = self.balanced(data, offer.inputs)
        path = f"{offer.path}/complete"
        body = {"inputs": raws_of(offer.wanted), "outputs": raws_of(outputs)}
        is_open = offer.state() == "open"
        if is_open and not any(each.is_spent for each in offer.wanted):
            self.accepted(path, body, key)
            for each in [*offer.inputs, *offer.wanted]:
                each.is_spent = True
            self.create([*outputs, *offer.outputs])
            offer.ended = "completed"
        else:
            code = "spent_input" if is_open else "offer_not_open"
            assert refusal(post(self.client, path, body))[:2] == (400, code)

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
        answer = post(self.client, path, body, key)
        assert (answer.status_code, answer.text) == (200, text)
        assert answer.headers["Idempotency-Replayed"] == "true"

    def accepted(self, path, body, key_form):
        # Of no other run: they share a ledger, which keeps keys for ever.
        key = key_form and key_form.format(uuid4())
        answer = post(self.client, path, body, key)
        assert answer.status_code == 200, answer.text
        assert "Idempotency-Replayed" not in answer.headers
        if key:
            self.answers[key] = (path, body, answer.text)
        return answer

    # What is refused.

    @any_answer
    @rule(data=st.data())
    def use_a_key_again(self, data):
        key = data.draw(st.sampled_from(list(self.answers)))
        body = {"outputs": [f"+1.{self.new_secret(data)}"]}
        refused = post(self.client, "/v1/mint", body, key)
        assert refusal(refused) == (422, "idempotency_key_reused", None)

    @any_live
    @rule(data=st.data())
    def swap_with_a_wrong_secret(self, data):
        good, wrong = self.some_live(data), self.some_live(data)[0]
        forged = f"+{wrong.amount}.{wrong.item_id}.{self.new_secret(data)}"
        outputs = raws_of(self.balanced(data, [*good, wrong]))
        refused = swap(self.client, [*raws_of(good), forged], outputs)
        assert refusal(refused) == (400, "unknown_input", len(good))

    @any_live
    @rule(data=st.data(), difference=st.sampled_from([-1, 1, 10]))
    def swap_with_a_wrong_amount(self, data, difference):
        wrong, *_ = self.some_live(data)
        amount = wrong.amount + difference or 2
        outputs = raws_of(self.parts(data, wrong.item_id, amount))
        refused = swap(
            self.client, [f"+{amount}.{wrong.item_id}.{wrong.secret}"], outputs
        )
        assert refusal(refused) == (400, "unknown_input", 0)

    @any_spent
    @rule(data=st.data())
    def spend_again(self, data):
        inputs = [data.draw(st.sampled_from(self.spent())), *self.some_live(data)]
        outputs = raws_of(self.balanced(data, inputs))
        refused = swap(self.client, raws_of(inputs), outputs)
        assert refusal(refused) == (400, "spent_input", 0)

    @any_spent
    @rule(data=st.data(), spent=st.booleans())
    def use_a_secret_again(self, data, spent):
        source, *_ = self.some_live(data)
        siblings = self.spent() if spent else self.live()
        used = [
            each
            for each in siblings
            if each.item_id == source.item_id and each is not source
        ]
        if used:
            secret = data.draw(st.sampled_from(used)).secret
            raw = f"+{source.amount}.{source.item_id}.{secret}"
            refused = swap(self.client, [source.raw()], [raw])
            assert refusal(refused) == (400, "used_secret", 0)

    @any_live
    @rule(data=st.data())
    def turn_units_into_those_of_another_item(self, data):
        outputs = self.live()
        source = data.draw(st.sampled_from(outputs))
        others = [each for each in outputs if each.item_id != source.item_id]
        if others:
            other = data.draw(st.sampled_from(others))
            total = source.amount + other.amount
            raw = f"+{total}.{source.item_id}.{self.new_secret(data)}"
            refused = swap(self.client, [source.raw(), other.raw()], [raw])
            assert refusal(refused) == (400, "unbalanced", None)

    # What holds after every sequence: no later request mends a row.

    def teardown(self):
        self.ledger.assert_sound()
        for item_id, total in self.totals.items():
            read = self.client.get(f"/v1/item/{item_id}")
            assert read.get_json() == {"id": item_id, "total": total, "metadata": None}
        for offer in self.offers:
            assert self.client.get(offer.path).get_json()["state"] == offer.state()

    @invariant()
    def the_states_are_those_of_the_model(self):
        outputs = list(self.outputs.values())
        for start in range(0, len(outputs), 256):
            part = outputs[start : start + 256]
            states = check(self.client, *raws_of(part))
            assert states == ["spent" if each.is_spent else "unspent" for each in part]


@pytest.fixture
def settings(settings):
    """Without a limit of failures: half of what the machine sends is refused."""
    return replace(settings, rate_limits=RateLimits(failures=None))


def test_the_ledger_holds_what_the_model_holds(client, ledger):
    run_state_machine_as_test(lambda: LedgerMachine(client, ledger), settings=PATIENCE)
