"""Hooks and checks for schemathesis.

See tests/contract/test_fuzzed_requests.py.
"""

import schemathesis
from schemathesis.checks import CHECKS

from tests.support.strong_secrets import make_strong_secret

# Rules that schemas cannot express, because they depend on other values of the request
# or on the ledger. A request that matches the schema may be refused for these only.
MEANINGS = {
    "total_too_large",
    "unbalanced",
    "duplicate_input",
    "duplicate_secret",
    "unknown_item",
    "unknown_input",
    "spent_input",
    "used_secret",
    "weak_secret",
    "not_an_offer",
    "offer_not_open",
    "idempotency_key_reused",
}

# Refusals that the schemas do not express either: the pattern of a raw output bounds
# only the digits of its amount, and a mint's outputs are all of one of two forms.
UNSAID = ["at most 9007199254740991", "must be all strings or all objects"]

# Ids of minted items. A generated offer names none of them, and links are followed from
# status 200 only, so `before_call` replaces its body.
minted = []


@schemathesis.hook
def after_call(context, case, response):
    if (case.method, case.path, response.status_code) == ("POST", "/v1/mint", 200):
        minted.append(response.json()["itemId"])


@schemathesis.hook
def before_call(context, case, kwargs):
    is_followed = case.meta.phase.name.value == "stateful"
    if case.path == "/v1/offers" and is_followed and minted:
        output = f"+1.{minted[-1]}.{make_strong_secret()}"
        case.body = {"inputs": [], "outputs": [output]}


@schemathesis.check
def valid_requests_are_refused_for_their_meaning_alone(ctx, response, case):
    """Replace positive_data_acceptance.

    Status 400 alone does not distinguish an invalid form from a broken rule.
    """
    is_problem = response.headers.get("content-type") == ["application/problem+json"]
    code = response.json()["code"] if is_problem else None
    is_unsaid = any(each in response.text for each in UNSAID)
    if code in MEANINGS or is_unsaid or _holds_integral_float(case.body):
        return None
    positive_data_acceptance = CHECKS.get_one("positive_data_acceptance")
    return positive_data_acceptance(ctx, response, case)


def _holds_integral_float(value):
    """Return whether a value contains a float such as 1.0.

    JSON Schema treats it as an integer; contract 2.2 does not.
    """
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return any(map(_holds_integral_float, value))
    return isinstance(value, float) and value.is_integer()
