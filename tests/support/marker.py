"""Secrets that can be searched for, and requests that send them everywhere."""

import base64

from tests.support.strong_secrets import make_strong_secret

# Two secrets of 32 characters that occur nowhere else, and that are not strong.
MARK = "Zmark7QxVw3KpLr9TnYb5HcDf2GsJ8Mu"
OTHER = "Zmark4WqXe6RtYu1IoPl8KjHg3FdSa0N"

STRONG = make_strong_secret()

KEY = "8e03978e-40d5-43e8-bc93-6894a57f9324"
NOWHERE = "deed_00000000000000000000000000"

# Invalid bodies that contain the mark. MARK stands for it.
MALFORMED = [
    '{"outputs":["+5.MARK"]',
    "MARK",
    '{"MARK":1,"MARK":1}',
    '"MARK" ' * 50_000,
    '["+5.MARK"]',
    '"+5.MARK"',
    '{"outputs":["+1.a"],"MARK":"MARK"}',
    '{"outputs":["+1.a"],"metadata":{"MARK":"MARK"}}',
    '{"outputs":["+1.a"],"metadata":"MARK"}',
    '{"outputs":["+1.a"],"metadata":{"image":"javascript:MARK"}}',
    '{"outputs":"MARK"}',
    '{"outputs":["+0.MARK"]}',
    '{"outputs":["+MARK.a"]}',
    '{"outputs":["MARK"]}',
    '{"outputs":["+1.MARKx"]}',
    '{"outputs":["+1.MARK","+1.MARK"]}',
    '{"outputs":[{"amount":"MARK","secret":"a"}]}',
    '{"outputs":[{"amount":1,"secret":"MARKx"}]}',
    '{"outputs":[{"amount":1,"secret":"a","MARK":1}]}',
    '{"inputs":["+1.MARK.a"],"outputs":["+1.MARK.a"]}',
]


def traces(mark):
    """Return the bytes to search for: the mark as text, hexadecimal and base64."""
    raw = mark.encode()
    digits = raw.hex().encode()
    # Base64 of the text at each of the three possible offsets, without the outer
    # groups, which contain a part of the neighbouring bytes.
    aligned = [base64.b64encode(b"x" * shift + raw)[4:-4] for shift in range(3)]
    return [raw, mark.encode("utf-16-le"), digits, digits.upper(), *aligned]


def assert_no_trace(data):
    """Assert that the bytes hold none of the marks in any form."""
    found = [
        trace
        for mark in (MARK, OTHER, STRONG)
        for trace in traces(mark)
        if trace in data
    ]
    assert found == []


def send_good_requests(api):
    """Mint, swap and check with the marks; repeat the mint and the swap.

    Return the answers that must not contain a mark. A mint's answer contains the
    secrets.
    """
    item_id = api.mint(f"+5.{MARK}", key=f"+5.{MARK}")
    api.mint(f"+5.{MARK}", key=f"+5.{MARK}")
    spent, live = [f"+5.{item_id}.{MARK}"], [f"+5.{item_id}.{OTHER}"]
    return [
        api.swap(spent, live, MARK),
        api.swap(spent, live, MARK),
        api.send_check(*spent, *live),
        api.http.get(f"/v1/item/{item_id}", headers={"If-None-Match": f'"{MARK}"'}),
        api.get(f"/v1/info?secret={MARK}"),
    ]


def send_tokens(api):
    """Mint with wrong or malformed tokens, at a service that requires one."""
    headers = [
        ("Authorization", f"Bearer {OTHER}"),
        ("Authorization", f"Bearer {MARK} {MARK}"),
        ("Authorization", f"Basic {MARK}"),
        ("Authorization", MARK),
        ("X-Authorization", MARK),
    ]
    del api.http.headers["Authorization"]
    return [
        api.http.post("/v1/mint", content=MARK, headers=[header]) for header in headers
    ]


def send_refused_swaps(api):
    """Send swaps that are refused for different reasons."""
    item_id = api.mint(f"+5.{MARK}", "+1.a")
    raw, new = f"+5.{item_id}.{MARK}", f"+5.{item_id}.{OTHER}"
    api.swap(f"+1.{item_id}.a", f"+1.{item_id}.b", KEY)
    return [
        api.swap(new, raw),
        api.swap(f"+4.{item_id}.{MARK}", f"+4.{item_id}.{OTHER}"),
        api.swap(raw, f"+4.{item_id}.{OTHER}"),
        api.swap([raw, raw], new),
        api.swap(raw, raw),
        api.swap(raw, [f"+1.{item_id}.{OTHER}", f"+4.{item_id}.{OTHER}"]),
        api.swap(f"+1.{item_id}.b", f"+1.{item_id}.{MARK}"),
        api.swap(f"+5.{NOWHERE}.{MARK}", f"+5.{NOWHERE}.{OTHER}"),
        api.swap(f"+5.deed_{MARK}.a", f"+5.deed_{MARK}.b"),
        api.swap(raw, new, KEY),
        api.swap(raw, new, f"{MARK}\x7f"),
        api.swap(raw, new, MARK * 8),
    ]


def send_offers(api):
    """Make and complete offers with keys; some are refused."""
    item_id = api.mint(f"+5.{MARK}")
    wanted = api.mint(f"+2.{MARK}", f"+2.{OTHER}")
    hers, for_her = [f"+5.{item_id}.{MARK}"], [f"+2.{wanted}.{STRONG}"]
    his, for_him = [f"+2.{wanted}.{MARK}"], [f"+5.{item_id}.{OTHER}"]
    weak = api.offer(hers, f"+2.{wanted}.{MARK}", MARK)
    made = api.offer(hers, for_her, MARK)
    offer_id = made.json()["offerId"]
    return [
        weak,
        made,
        api.offer(hers, for_her, MARK),
        api.offer(f"+5.{item_id}.{OTHER}", for_her),
        api.complete(offer_id, his, f"+5.{item_id}.{MARK}", OTHER),
        api.complete(offer_id, his, for_him, OTHER),
        api.complete(offer_id, his, for_him, OTHER),
        api.complete(offer_id, f"+2.{wanted}.{OTHER}", for_him),
        api.get(f"/v1/offers/{MARK}"),
        api.complete(MARK, his, for_him),
        api.find(wanted, STRONG, MARK, path="/v1/offers/find"),
    ]


def send_malformed_requests(api):
    """Send the mark in invalid bodies and headers."""
    headers = {"Content-Type": f"text/{MARK}"}, {"Content-Length": "99"}
    return [
        *(api.http.post("/v1/mint", content=MARK, headers=each) for each in headers),
        *(
            api.post(path, body.replace("MARK", MARK))
            for path in ("/v1/mint", "/v1/swap", "/v1/check", "/v1/offers")
            for body in MALFORMED
        ),
    ]


def send_to_wrong_places(api):
    """Send the mark in the path, the method and the headers."""
    request = api.http.build_request("GET", "/v1/mint")
    # Set here, because httpx would convert it to upper case.
    request.method = MARK
    credentials = {"Authorization": MARK, "Cookie": MARK, "Referer": MARK}
    places = {"Origin": MARK, "Host": MARK, "X-Forwarded-For": MARK}
    return [
        api.http.send(request),
        api.get(f"/{MARK}"),
        api.get(f"/v1/{MARK}"),
        api.get(f"/v1/item/{MARK}"),
        api.get(f"/v1/item/deed_{MARK}"),
        api.get(f"/v1/item/+5.{NOWHERE}.{MARK}"),
        api.get(f"/v1/mint?{MARK}={MARK}"),
        api.http.options(f"/v1/{MARK}"),
        api.post(f"/v1/mint/{MARK}", MARK),
        api.http.get("/nothing", headers=credentials),
        api.http.get("/nothing", headers=places),
    ]
