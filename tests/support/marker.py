"""A secret that can be looked for, and ways to send it everywhere."""

import base64
import json

from deeds.domain.raw_output import make_strong_secret
from tests.support.requests import complete, mint, offer, post, swap

# Two secrets of 32 letters: nobody's words, and nothing that a checksum makes strong.
MARK = "Zmark7QxVw3KpLr9TnYb5HcDf2GsJ8Mu"
OTHER = "Zmark4WqXe6RtYu1IoPl8KjHg3FdSa0N"

STRONG = make_strong_secret()

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
NOWHERE = "deed_00000000000000000000000000"


def traces(mark):
    """Return what to look for.

    The mark as it is, and written in hexadecimal or base64.
    """
    raw = mark.encode()
    plain = [
        raw,
        mark.encode("utf-16-le"),
        raw.hex().encode(),
        raw.hex().upper().encode(),
    ]
    # Three places that a text can have within groups of three bytes; without the outer
    # groups, which hold a part of what is beside the text.
    aligned = [base64.b64encode(b"x" * shift + raw)[4:-4] for shift in range(3)]
    return [*plain, *aligned]


def assert_no_trace(data):
    """Assert that the bytes hold none of the marks in any form."""
    found = [
        trace
        for mark in (MARK, OTHER, STRONG)
        for trace in traces(mark)
        if trace in data
    ]
    assert found == []


def send_good_requests(client):
    """Mint, swap and check with the marks, each also repeated.

    Return answers that may be read.

    The answer of a mint is not among them: it repeats the secret to its owner.
    """
    item_id = mint(client, f"+5.{MARK}", key=f"+5.{MARK}")
    mint(client, f"+5.{MARK}", key=f"+5.{MARK}")
    spent, live = [f"+5.{item_id}.{MARK}"], [f"+5.{item_id}.{OTHER}"]
    return [
        swap(client, spent, live, MARK),
        swap(client, spent, live, MARK),
        post(client, "/v1/check", {"outputs": spent + live}),
        client.get(f"/v1/item/{item_id}", headers={"If-None-Match": f'"{MARK}"'}),
        client.get(f"/v1/info?secret={MARK}"),
    ]


def send_refused_swaps(client):
    """Send swaps that are refused, each for another reason."""
    item_id = mint(client, f"+5.{MARK}", "+1.a")
    raw, new = f"+5.{item_id}.{MARK}", f"+5.{item_id}.{OTHER}"
    swap(client, [f"+1.{item_id}.a"], [f"+1.{item_id}.b"], KEY)
    return [
        swap(client, [new], [raw]),
        swap(client, [f"+4.{item_id}.{MARK}"], [f"+4.{item_id}.{OTHER}"]),
        swap(client, [raw], [f"+4.{item_id}.{OTHER}"]),
        swap(client, [raw, raw], [new]),
        swap(client, [raw], [raw]),
        swap(client, [raw], [f"+1.{item_id}.{OTHER}", f"+4.{item_id}.{OTHER}"]),
        swap(client, [f"+1.{item_id}.b"], [f"+1.{item_id}.{MARK}"]),
        swap(client, [f"+5.{NOWHERE}.{MARK}"], [f"+5.{NOWHERE}.{OTHER}"]),
        swap(client, [f"+5.deed_{MARK}.a"], [f"+5.deed_{MARK}.b"]),
        swap(client, [raw], [new], KEY),
        swap(client, [raw], [new], f"{MARK}é"),
        swap(client, [raw], [new], MARK * 8),
    ]


def send_offers(client):
    """Make, complete and fail to, each under a key."""
    item_id, wanted = (
        mint(client, f"+5.{MARK}"),
        mint(client, f"+2.{MARK}", f"+2.{OTHER}"),
    )
    hers, his = [f"+5.{item_id}.{MARK}"], [f"+2.{wanted}.{MARK}"]
    for_her, for_him = [f"+2.{wanted}.{STRONG}"], [f"+5.{item_id}.{OTHER}"]
    weak = offer(client, hers, [f"+2.{wanted}.{MARK}"], MARK)
    made = offer(client, hers, for_her, MARK)
    return [
        weak,
        made,
        offer(client, hers, for_her, MARK),
        offer(client, [f"+5.{item_id}.{OTHER}"], for_her),
        complete(client, made, his, [f"+5.{item_id}.{MARK}"], OTHER),
        complete(client, made, his, for_him, OTHER),
        complete(client, made, his, for_him, OTHER),
        complete(client, made, [f"+2.{wanted}.{OTHER}"], for_him),
        client.get(f"/v1/offers/{MARK}"),
        post(
            client, f"/v1/offers/{MARK}/complete", {"inputs": his, "outputs": for_him}
        ),
    ]


def send_malformed_requests(client):
    """Send the mark in places where nothing should be."""
    values = [
        [f"+5.{MARK}"],
        f"+5.{MARK}",
        {"outputs": ["+1.a"], MARK: MARK},
        {"outputs": ["+1.a"], "metadata": {MARK: MARK}},
        {"outputs": ["+1.a"], "metadata": MARK},
        {"outputs": ["+1.a"], "metadata": {"image": f"javascript:{MARK}"}},
        {"outputs": MARK},
        {"outputs": [f"+0.{MARK}"]},
        {"outputs": [f"+{MARK}.a"]},
        {"outputs": [MARK]},
        {"outputs": [f"+1.{MARK}x"]},
        {"outputs": [f"+1.{MARK}", f"+1.{MARK}"]},
        {"outputs": [{"amount": MARK, "secret": "a"}]},
        {"outputs": [{"amount": 1, "secret": f"{MARK}x"}]},
        {"outputs": [{"amount": 1, "secret": "a", MARK: 1}]},
        {"inputs": [f"+1.{MARK}.a"], "outputs": [f"+1.{MARK}.a"]},
    ]
    texts = [f'{{"outputs":["+5.{MARK}"]', MARK, f'{{"{MARK}":1,"{MARK}":1}}']
    texts += [f'"{MARK}" ' * 50_000, *map(json.dumps, values)]
    is_json = {"CONTENT_TYPE": "application/json"}
    return [
        *(
            client.post(path, data=text, environ_overrides=is_json)
            for path in ("/v1/mint", "/v1/swap", "/v1/check", "/v1/offers")
            for text in texts
        ),
        client.post("/v1/mint", data=MARK, content_type=f"text/{MARK}"),
        client.post(
            "/v1/mint", data=MARK, environ_overrides=is_json | {"CONTENT_LENGTH": "99"}
        ),
    ]


def send_to_odd_places(client):
    """Send the mark in the path, the method and the headers."""
    return [
        client.get(f"/{MARK}"),
        client.get(f"/v1/{MARK}"),
        client.get(f"/v1/item/{MARK}"),
        client.get(f"/v1/item/deed_{MARK}"),
        client.get(f"/v1/item/+5.{NOWHERE}.{MARK}"),
        client.get(f"/v1/mint?{MARK}={MARK}"),
        client.open("/v1/mint", method=MARK),
        client.open(f"/v1/{MARK}", method="OPTIONS"),
        client.post(f"/v1/mint/{MARK}", data=MARK),
        client.get(
            "/nothing", headers={"Authorization": MARK, "Cookie": MARK, "Referer": MARK}
        ),
        client.get(
            "/nothing", headers={"Origin": MARK, "Host": MARK, "X-Forwarded-For": MARK}
        ),
    ]
