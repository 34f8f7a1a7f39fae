"""Links as the page writes them, and the texts that people find them in."""

import json
import random
import re
import time

import pytest

from deeds_client.errors import InvalidInputError
from deeds_client.links import claim_link, read_claims, read_offer
from deeds_client.values import Output, Secret, make_secret
from tests.support.serving import REPOSITORY

URL = "https://deeds.example.com"
ID, OFFER_ID = f"deed_{'x' * 26}", f"offer_{'z' * 26}"
STRONG = make_secret()
LINK = f"{URL}/claim/{ID}#+5."

# Written by the page's claimLink.
ESCAPED = {
    "a.b+c d": "a%2Eb%2Bc%20d",
    "(brackets)!*'~_-)": "%28brackets%29%21%2A%27%7E%5F%2D%29",
    "😀": "%F0%9F%98%80",
}


def link_of(secret):
    return claim_link(URL, Output(5, ID, Secret(secret)))


@pytest.mark.parametrize(("secret", "escaped"), ESCAPED.items())
def test_links_are_written_as_the_page_writes_them(secret, escaped):
    assert link_of(secret) == f"{LINK}{escaped}"


CASES = json.loads((REPOSITORY / "tests/vectors/links.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_links_are_read_as_messengers_hand_them_on(case):
    read, said = [], ""
    try:
        read = [output.raw for output in read_claims(case["text"], case["url"])]
    except InvalidInputError as error:
        said = str(error)

    assert read == case.get("outputs", [])
    assert case.get("refused", "") in said


# How messengers change a whole link.
DONE_TO_LINKS = [
    lambda link: link,
    lambda link: link.replace("+", ""),
    lambda link: link.replace("+", " "),
    lambda link: link.replace("#+", "%23%20"),
    lambda link: re.sub(r"([^\w%])|_", lambda sign: f"\\{sign[0]}", link),
    lambda link: link.replace("&", "&amp;"),
    "\u200b".join,
    lambda link: f"[{link}]({link})",
]
AROUND = ["{}", "<({})>, bye", "**{}**\n", '"{}"?', "Link:{}。", "('{}')\\\nBye"]
SIGNS = "+#%.&=\\_-~*/?:5a0 \n\0é😀\u200b\xad"


def test_no_secret_becomes_another_one():
    chance = random.Random(6)
    for _ in range(2000):
        made_up = "".join(chance.choices(SIGNS, k=chance.randint(1, 32)))
        secret = chance.choice([made_up, STRONG])
        link = f"{link_of(secret)}{chance.choice(['', '&unit=hour&n=12'])}"
        changed = chance.choice(DONE_TO_LINKS)(link)
        text = chance.choice(AROUND).format(changed)

        assert read_claims(text, URL) == [Output(5, ID, Secret(secret))], text


# In an escape, not escaped, without a space, with too long a secret.
CUT_OFF = [
    f"{LINK}a%C",
    f"{LINK}pass-on.it",
    link_of("a") * 2,
    f"{link_of('a')} +5.{ID}.{'b' * 33}",
]


@pytest.mark.parametrize("text", CUT_OFF)
def test_no_link_is_read_where_one_is_cut_off(text):
    with pytest.raises(InvalidInputError, match=r"This link is cut off\. Ask for it"):
        read_claims(text, URL)


REFUSED = {
    f"{LINK}a%C3": "A secret has",
    f"{link_of('a')} evil.com/claim/{ID}#+5.a": "belongs to evil.com, not to deeds.exa",
    link_of("a").replace(".com", ".com@evil"): "belongs to deeds.example.com@evil",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items())
def test_nothing_is_read_where_something_is_wrong(text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_claims(text, URL)


@pytest.mark.parametrize(
    "text",
    [OFFER_ID, f"Pay: {URL}/offer/{OFFER_ID}.", f"{URL[8:]}/offer/{OFFER_ID}"],
)
def test_offers_are_found_by_their_id_or_a_link(text):
    assert read_offer(text, URL) == OFFER_ID


@pytest.mark.parametrize(
    ("message", "text"),
    [("trade", ""), ("to evil.com", f"https://evil.com/offer/{OFFER_ID}")],
)
def test_no_offer_is_read_where_something_is_wrong(message, text):
    with pytest.raises(InvalidInputError, match=message):
        read_offer(text, URL)


@pytest.mark.parametrize(
    "piece", ["+1.deed_", f"claim/{ID}", f"#+5.{ID}.", "https://a.b/", "."]
)
def test_a_long_text_is_read_in_a_moment(piece):
    begun_at = time.process_time()

    with pytest.raises(InvalidInputError):
        read_claims(f"+1.{ID}.a{piece * (2**18 // len(piece))}b", URL)

    assert time.process_time() - begun_at < 2
