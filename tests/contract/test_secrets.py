"""Secrets: 1 to 32 code points, taken exactly as they are (contract part 2)."""

import pytest

from deeds.domain.strong_secret import make_strong_secret
from tests.support.requests import check, mint, post, refusal, swap

# Each pair looks alike, to somebody or to some library, and is two secrets.
ALIKE = {
    "case": ("secret", "Secret"),
    "case of ß": ("ß", "ss"),
    "dotless i": ("i", "\u0131"),
    "space before": ("a", " a"),
    "space after": ("a", "a "),
    "space alone": (" ", "  "),
    "no-break space": ("a b", "a\u00a0b"),
    "line end": ("a", "a\n"),
    "NUL after": ("a", "a\0"),
    "NUL alone": ("\0", "\0\0"),
    "after NUL": ("a\0b", "a\0c"),
    "zero-width space": ("a", "a\u200b"),
    "BOM": ("a", "\ufeffa"),
    "variation selector": ("a", "a\ufe0f"),
    "composed and decomposed": ("\u00e9", "e\u0301"),
    "ligature": ("\ufb01", "fi"),
    "fullwidth": ("a", "\uff41"),
    "angstrom": ("\u212b", "\u00c5"),
    "another script": ("a", "\u0430"),
    "zero before": ("1", "01"),
    "dot after": ("a", "a."),
    "dot before": ("a", ".a"),
    "plus before": ("a", "+a"),
    "percent": ("a b", "a%20b"),
    "plus for space": ("a b", "a+b"),
    "backslash": ("\\", "\\\\"),
    "replacement": ("\ufffd", "\ufffe"),
    "astral": ("\U0001f3e1", "\U0001f3e0"),
}

LONGEST = {
    "ASCII": "x" * 32,
    "two bytes": "é" * 32,
    "astral": "\U0001f3e1" * 32,
    "combining": "e\u0301" * 16,
    "one emoji of many code points": "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d" * 5 + "ab",
    "NUL": "\0" * 32,
    "dots": "." * 32,
    "last code points": "\U0010ffff\uffff\ud7ff\ue000" * 8,
}

NO_SECRETS = {
    "nothing": "",
    "33 code points": "x" * 33,
    "33 astral": "\U0001f3e1" * 33,
    "17 decomposed": "e\u0301" * 17,
    "high surrogate": "\ud800",
    "low surrogate": "a\udfff",
    "surrogates the wrong way round": "\udc00\ud800",
    "1 MB": "x" * 1_000_000,
}


@pytest.mark.parametrize(("one", "other"), ALIKE.values(), ids=ALIKE)
def test_secrets_that_look_alike_are_two(client, ledger, one, other):
    item_id = mint(client, f"+1..{one}", f"+2..{other}")
    raws = [f"+1.{item_id}.{one}", f"+2.{item_id}.{other}"]
    crossed = [f"+1.{item_id}.{other}", f"+2.{item_id}.{one}"]

    states = check(client, *raws, *crossed)
    spent = swap(client, raws[:1], [f"+1.{item_id}.new"])

    assert states == ["unspent", "unspent", "unknown", "unknown"]
    assert spent.get_json() == {"success": True}
    assert check(client, *raws) == ["spent", "unspent"]


@pytest.mark.parametrize("secret", LONGEST.values(), ids=LONGEST)
def test_a_secret_of_32_code_points_is_minted_and_spent(client, ledger, secret):
    assert len(secret) == 32
    item_id = post(client, "/v1/mint", {"outputs": [{"amount": 5, "secret": secret}]}).get_json()[
        "itemId"
    ]

    answer = swap(client, [f"+5.{item_id}.{secret}"], [f"+5.{item_id}.short"])

    assert answer.get_json() == {"success": True}
    assert (ledger.spent(item_id), ledger.live(item_id)) == ([5], [5])


@pytest.mark.parametrize("secret", LONGEST.values(), ids=LONGEST)
def test_an_answer_repeats_the_secret_exactly(client, secret):
    answer = post(client, "/v1/mint", {"outputs": [{"amount": 5, "secret": secret}]}).get_json()

    assert answer["outputs"][0]["secret"] == secret
    assert answer["rawOutputs"] == [f"+5.{answer['itemId']}.{secret}"]


@pytest.mark.parametrize("secret", NO_SECRETS.values(), ids=NO_SECRETS)
def test_no_other_text_is_minted(client, ledger, secret):
    in_object = post(client, "/v1/mint", {"outputs": [{"amount": 1, "secret": secret}]})
    in_string = post(client, "/v1/mint", {"outputs": [f"+1..{secret}"]})

    assert refusal(in_object) == (400, "invalid_request", 0)
    assert refusal(in_string) == (400, "invalid_request", 0)
    assert ledger.operations() == []


@pytest.mark.parametrize("secret", NO_SECRETS.values(), ids=NO_SECRETS)
def test_no_other_text_is_spent_created_or_checked(client, ledger, secret):
    item_id = mint(client, "+5.a")
    good, bad = f"+5.{item_id}.a", f"+5.{item_id}.{secret}"
    before = ledger.rows()

    answers = [
        swap(client, [bad], [f"+5.{item_id}.b"]),
        swap(client, [good], [bad]),
        post(client, "/v1/check", {"outputs": [bad]}),
    ]

    assert [refusal(each) for each in answers] == [(400, "invalid_request", 0)] * 3
    assert ledger.rows() == before


@pytest.mark.parametrize("secret", [5, 5.0, True, None, ["a"], {"a": "b"}])
def test_a_secret_must_be_text(client, ledger, secret):
    answer = post(client, "/v1/mint", {"outputs": [{"amount": 1, "secret": secret}]})

    assert refusal(answer) == (400, "invalid_request", 0)
    assert ledger.operations() == []


def test_an_escaped_pair_of_surrogates_is_one_code_point(client):
    body = b'{"outputs":[{"amount":5,"secret":"%s"}]}' % (rb"\ud83c\udfe1" * 32)

    answer = client.post("/v1/mint", data=body, content_type="application/json")

    assert answer.get_json()["outputs"][0]["secret"] == "\U0001f3e1" * 32


def test_a_strong_secret_is_spent_like_any_other(client, ledger):
    strong, stronger = make_strong_secret(), make_strong_secret()
    item_id = mint(client, "+5.weak")

    answers = [
        swap(client, [f"+5.{item_id}.weak"], [f"+5.{item_id}.{strong}"]),
        swap(client, [f"+5.{item_id}.{strong}"], [f"+5.{item_id}.{stronger}"]),
        swap(client, [f"+5.{item_id}.{stronger}"], [f"+5.{item_id}.weaker"]),
    ]

    assert [answer.get_json() for answer in answers] == [{"success": True}] * 3
    assert (ledger.spent(item_id), ledger.live(item_id)) == ([5, 5, 5], [5])


def test_a_strong_secret_with_one_letter_changed_is_another(client):
    strong = make_strong_secret()
    item_id = mint(client, f"+5.{strong}")
    changed = ("1" if strong[0] == "0" else "0") + strong[1:]

    assert check(client, f"+5.{item_id}.{changed}", f"+5.{item_id}.{strong.upper()}") == [
        "unknown",
        "unknown",
    ]
