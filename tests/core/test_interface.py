"""The interface (contract 4.1 to 4.6 and 5), on the core alone.

What each request is refused for is tested with all parts, in tests/contract.
"""

import json

FIRST_ID = "deed_" + "0" * 26
SUCCESS = {"success": True}


def mint(client, *outputs, key=None, **rest):
    return send(client, "/v1/mint", {"outputs": outputs} | rest, key)


def swap(client, inputs, outputs, key=None):
    return send(client, "/v1/swap", {"inputs": inputs, "outputs": outputs}, key)


def send(client, path, body, key):
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(path, json=body, headers=headers)


def states(client, *outputs):
    return client.post("/v1/check", json={"outputs": outputs}).json["states"]


def refusal(answer):
    assert answer.mimetype == "application/problem+json"
    return answer.status_code, answer.json["code"]


def test_a_mint_makes_an_item_and_tells_its_outputs(client):
    metadata = {"name": "Tea", "image": "https://a.example/tea.png"}

    answer = mint(client, "+5.a", "+7.b.c", metadata=metadata)

    assert answer.json == {
        "itemId": FIRST_ID,
        "outputs": [
            {"amount": 5, "secret": "a", "itemId": FIRST_ID},
            {"amount": 7, "secret": "b.c", "itemId": FIRST_ID},
        ],
        "rawOutputs": [f"+5.{FIRST_ID}.a", f"+7.{FIRST_ID}.b.c"],
    }
    item = client.get(f"/v1/item/{FIRST_ID}").json
    assert (item["id"], item["total"]) == (FIRST_ID, 12)
    assert json.loads(item["metadata"]) == metadata


def test_a_swap_hands_over_splits_and_trades(client):
    first = mint(client, "+5.a").json["itemId"]
    second = mint(client, "+3.a").json["itemId"]

    answer = swap(
        client,
        [f"+5.{first}.a", f"+3.{second}.a"],
        [f"+2.{first}.b", f"+3.{first}.c", f"+3.{second}.d"],
    )

    assert answer.json == SUCCESS
    spent = [f"+5.{first}.a", f"+3.{second}.a"]
    live = [f"+2.{first}.b", f"+3.{first}.c", f"+3.{second}.d"]
    assert states(client, *spent, *live) == ["spent"] * 2 + ["unspent"] * 3
    assert refusal(swap(client, spent[:1], [f"+5.{first}.e"])) == (400, "spent_input")


def test_a_key_makes_one_operation_for_the_life_of_the_ledger(client):
    minted = mint(client, "+5.a", "+7.b", key="order 17")
    again = mint(client, "+7.b", "+5.a", key="order 17")
    item = minted.json["itemId"]
    swapped = [swap(client, [f"+5.{item}.a"], [f"+5.{item}.c"], "k") for _ in range(2)]
    reused = swap(client, [f"+7.{item}.b"], [f"+7.{item}.d"], "k")

    assert again.json["itemId"] == item
    assert again.json["rawOutputs"] == [f"+7.{item}.b", f"+5.{item}.a"]
    assert [each.json for each in swapped] == [SUCCESS] * 2
    replays = [each.headers.get("Idempotency-Replayed") for each in (again, *swapped)]
    assert replays == ["true", None, "true"]
    assert refusal(reused) == (422, "idempotency_key_reused")
    assert states(client, f"+7.{item}.b") == ["unspent"]


def test_it_says_what_it_is_and_that_it_is_ready(client):
    info = client.get("/v1/info").json

    assert info["limits"]["amountMax"] == 2**53 - 1
    assert "offerExpiresInMax" not in info["limits"]
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 200


def test_what_is_not_there_is_a_404(client):
    assert refusal(client.get(f"/v1/item/{FIRST_ID}")) == (404, "item_not_found")
    assert refusal(client.get("/v1/offers/offer_x")) == (404, "not_found")
