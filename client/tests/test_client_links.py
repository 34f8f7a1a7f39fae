"""Links as the page writes them, and texts as messengers, mail programs and people make them."""

import time

import pytest

from deeds_client.errors import InvalidInputError
from deeds_client.links import claim_link, offer_link, read_claims, read_id, read_offer
from deeds_client.values import Output, make_secret

URL = "https://deeds.example.com"
ID, OFFER_ID = f"deed_{'x' * 26}", f"offer_{'z' * 26}"
STRONG = make_secret()


def output_with(secret):
    return Output(5, ID, secret)


def link_of(secret, unit=""):
    return claim_link(URL, output_with(secret), unit)


def secrets_in(text):
    return [output.secret for output, _ in read_claims(text, URL)]


# Written by the page's claimLink.
ESCAPED = {
    "a.b+c d": "a%2Eb%2Bc%20d",
    "(brackets)!*'~_-)": "%28brackets%29%21%2A%27%7E%5F%2D%29",
    "100%": "100%25",
    "😀": "%F0%9F%98%80",
}


@pytest.mark.parametrize(("secret", "escaped"), ESCAPED.items())
def test_links_are_written_as_the_page_writes_them(secret, escaped):
    link = claim_link(URL, output_with(secret), "Stück &c.")

    assert link == f"{URL}/claim/{ID}#+5.{escaped}&unit=St%C3%BCck%20%26c%2E"
    assert offer_link(URL, OFFER_ID) == f"{URL}/offer/{OFFER_ID}"


MADE_UP = [" leading and trailing ", "ends with a dot.", "#?&=%41%", "&unit=hour", "a\nb\tc\0"]
MADE_UP += ["+5.deed_x.a", "https://a/claim#+5.deed_x.a", 'quotes "and" <tags>`', STRONG, *ESCAPED]


@pytest.mark.parametrize("secret", MADE_UP)
def test_a_link_brings_its_output_back_whatever_stands_around_it(secret):
    text = f"For you: {link_of(secret, 'Stück &c.')} and\n+5.{ID}.{STRONG}\n{link_of('b')}, bye."

    assert read_claims(text, URL) == [
        (output_with(secret), "Stück &c."),
        (output_with(STRONG), ""),
        (output_with("b"), ""),
    ]


DONE_TO_LINKS = {
    "ends in a full stop of Chinese": lambda link: f"{link}。",
    "ends in a bracket": lambda link: f"<({link})>",
    "in Markdown": lambda link: f"[a ticket]({link}) for you",
    "in bold": lambda link: f"**{link}**",
    "without a scheme": lambda link: link.replace("https://", ""),
    "in capitals as far as that is right": lambda link: link.replace(URL, URL.upper()),
    "after a word": lambda link: f"Link:{link}",
    "followed for advertising": lambda link: link.replace("#", "?utm_source=x&fbclid=Iw_-1#"),
    "its hash escaped": lambda link: link.replace("#", "%23"),
    "its hash and plus escaped": lambda link: link.replace("#", "%23").replace("+", "%2B"),
    "as HTML": lambda link: link.replace("&unit", "&amp;unit"),
    "with characters that are not seen": lambda link: link.replace("deed_", "de\u200bed_"),
}


@pytest.mark.parametrize("secret", [STRONG, "see you at 8.", "pass(word)"])
@pytest.mark.parametrize("change", DONE_TO_LINKS.values(), ids=DONE_TO_LINKS)
def test_what_was_done_to_a_link_is_undone(change, secret):
    assert read_claims(change(link_of(secret, "hour")), URL) == [(output_with(secret), "hour")]


TEXTS = {
    "several lines": (f"\n +5.{ID}.a\n+5.{ID}.b\r\n+5.{ID}.c\n", ["a", "b", "c"]),
    "in a line": (f"+5.{ID}.{STRONG} - take care, +5.{ID}.c\t+5.{ID}.d", [STRONG, "c", "d"]),
    "in brackets": (f'(+5.{ID}.a(b)c) and <+5.{ID}.d>, "+5.{ID}.e".', ["a(b)c", "d", "e"]),
    "in quotes": (f"„+5.{ID}.a“ and '+5.{ID}.don't'", ["a", "don't"]),
    "the same twice": (f"{link_of('a')} {link_of('a')}", ["a"]),
}


@pytest.mark.parametrize(("text", "secrets"), TEXTS.values(), ids=TEXTS)
def test_outputs_are_found_in_a_text(text, secrets):
    assert secrets_in(text) == secrets


LINK = f"{URL}/claim/{ID}#+5."
CUT = "This link is cut off. Ask for it again."
REFUSED = {
    "nothing": ("", "no whole claim link"),
    "words": ("hello +5.00 https://example.net/ deed_x", "no whole claim link"),
    "capitals": (link_of(STRONG).upper(), "no whole claim link"),
    "cut off in its id": (LINK[:50], CUT),
    "cut off behind its id": (f"{URL}/claim/{ID}", CUT),
    "cut off in its amount": (f"{LINK[:-1]} and {link_of('a')}", CUT),
    "cut off in an escape": (f"{LINK}a%C", CUT),
    "cut off in a letter": (f"{LINK}a%C3", "no raw output"),
    "cut off in its unit": (f"{LINK}a&un", CUT),
    "broken over lines": (link_of(STRONG).replace("#", "\n> #"), CUT),
    "not escaped": (f"{LINK}pass-on.it+now", CUT),
    "two without a blank": (link_of("a") + link_of("b"), CUT),
    "a raw output without a secret": (f"+5.{ID}.", CUT),
    "a raw output with a long secret": (f"{link_of('a')} +5.{ID}.{'b' * 33}", CUT),
    "another host": (
        link_of("a").replace("deeds.", "deed."),
        "belongs to deed.example.com, not to",
    ),
    "one of another host": (f"{link_of('a')} evil.com/claim/{ID}#+5.a", "belongs to evil.com"),
    "another port": (link_of("a").replace(".com", ".com:8443"), "deeds.example.com:8443"),
    "our host as its user": (link_of("a").replace(".com", ".com@evil"), "deeds.example.com@evil"),
    "our host as its path": (f"https://e.com/{link_of('a')[8:]}", "belongs to e.com"),
    "our host behind a backslash": (f"https://e.com\\{LINK[8:]}a", "belongs to e.com"),
    "far from its host": (f"https://e.com/{'a' * 999}/claim/{ID}#+5.a", "belongs to e.com"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_nothing_is_read_where_something_is_wrong(text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_claims(text, URL)


@pytest.mark.parametrize("unit", ["x" * 21, "a\nb", "\u202eabc", "000 x", "x 2", "seat ½", "-5"])
def test_no_unit_passes_for_more_than_a_word(unit):
    assert read_claims(link_of("a", unit), URL) == [(output_with("a"), "")]


def test_a_host_may_be_local_and_have_a_path():
    url = "http://localhost:8000/deeds"

    for link in (claim_link(url, output_with("a")), f"on localhost:8000/deeds/claim/{ID}#+5.a"):
        assert read_claims(link, url) == [(output_with("a"), "")]


def test_items_and_offers_are_found_by_their_id_or_a_link():
    for text in (ID, f" {ID[:20]}\u200b{ID[20:]}", f"See <{URL}/wallet#{ID}>.", link_of("a b")):
        assert read_id("deed", text, URL) == ID
    for text in (OFFER_ID, f"Pay: {offer_link(URL, OFFER_ID)}.", f"{URL[8:]}/offer/{OFFER_ID}"):
        assert read_offer(text, URL) == OFFER_ID
    for text in ("", "Night Choir", ID[:20], OFFER_ID):
        assert read_id("deed", text, URL) is None


NO_OFFERS = {
    "no payment request": "",
    "belongs to evil.com": f"https://evil.com/offer/{OFFER_ID}",
}


@pytest.mark.parametrize(("message", "text"), NO_OFFERS.items())
def test_a_text_that_names_no_offer_of_ours_says_so(text, message):
    with pytest.raises(InvalidInputError, match=message):
        read_offer(text, URL)


PIECES = ["+1.deed_", "claim/", f"claim/{ID}", "1\n", f"#+5.{ID}.", "https://a.b/", " "]


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_is_read_in_a_moment(piece):
    begun_at = time.process_time()

    with pytest.raises(InvalidInputError):
        read_claims(f"+1{piece * (2**18 // len(piece))}", URL)

    assert time.process_time() - begun_at < 2
