"""Short ways to send the requests of the contract through Flask's test client."""

import json

from deeds.domain.raw_output import make_strong_secret


def post(client, path, body, key=None):
    """Send the body as JSON, with an Idempotency-Key if one is given."""
    headers = {} if key is None else {"Idempotency-Key": key}
    return client.post(
        path, data=json.dumps(body), content_type="application/json", headers=headers
    )


def mint(client, *outputs, key=None):
    """Mint an item with these outputs, in the form `+5.secret`, and return its id."""
    answer = post(client, "/v1/mint", {"outputs": list(outputs)}, key)
    assert answer.status_code == 200, answer.text
    return str(answer.get_json()["itemId"])


def swap(client, inputs, outputs, key=None):
    return post(
        client, "/v1/swap", {"inputs": list(inputs), "outputs": list(outputs)}, key
    )


def fresh(amount, item_id):
    """Return a raw output under a new strong secret."""
    return f"+{amount}.{item_id}.{make_strong_secret()}"


def ask_for(client, *item_ids, inputs=()):
    """Ask for a unit of each item, for these inputs if any.

    Return the id of the offer.
    """
    outputs = [fresh(1, item_id) for item_id in item_ids]
    answer = post(client, "/v1/offers", {"inputs": list(inputs), "outputs": outputs})
    assert answer.status_code == 200, answer.text
    return str(answer.get_json()["offerId"])


def check(client, *outputs):
    answer = post(client, "/v1/check", {"outputs": list(outputs)})
    assert answer.status_code == 200, answer.text
    return answer.get_json()["states"]


def offer(client, inputs, outputs, key=None, /, **rest):
    return post(
        client, "/v1/offers", {"inputs": inputs, "outputs": outputs} | rest, key
    )


def complete(client, offered, inputs, outputs, key=None):
    """Complete what the answer to a making has offered."""
    path = f"/v1/offers/{offered.get_json()['offerId']}/complete"
    return post(client, path, {"inputs": inputs, "outputs": outputs}, key)


def stop(client):
    """Close the service of the client, as a process does that ends."""
    client.application.extensions["deeds"].close()


def refusal(answer):
    """Return what a refusal says.

    Status, code and the index of the element at fault.
    """
    problem = answer.get_json()
    assert answer.mimetype == "application/problem+json", answer.text
    return answer.status_code, problem["code"], problem.get("index")
