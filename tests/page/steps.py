"""What visitors and others do with deeds, and what is kept of it here and there."""

import base64
import json
import urllib.request
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from playwright.sync_api import Locator, Page, expect

from deeds.domain.raw_output import make_strong_secret
from tests.page.visitor import Visitor
from tests.support.waiting import wait_until

PASTE = "Claim links"
TAKE = "Claim"


def svg(width: int, height: int, content: str = "") -> str:
    """Return a data: URI of a picture of this size."""
    size = f'width="{width}" height="{height}"'
    text = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{content}</svg>'
    return f"data:image/svg+xml;base64,{base64.b64encode(text.encode()).decode()}"


SHED = {
    "name": "A share in the garden shed",
    "description": "One of a hundred. Whoever holds ten has a key to the door "
    "and may keep a bicycle in it over the winter.",
    "image": svg(640, 420, '<rect width="640" height="420" fill="#8fbcd8"/>'),
}
TICKET = {"name": "A ticket"}


def post(url: str, body: Any) -> Any:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def mint_deed(origin: str, metadata: dict[str, str] | None, *outputs: str) -> str:
    """Mint an item at a running service and return its id."""
    body = {"outputs": list(outputs) or ["+100.a"], "metadata": metadata}
    return str(post(f"{origin}/v1/mint", body)["itemId"])


def mint_outputs(
    origin: str, *secrets: str, metadata: dict[str, str] | None = SHED
) -> list[str]:
    """Mint five units for each secret; return the raw outputs."""
    item_id = mint_deed(origin, metadata, *(f"+5.{secret}" for secret in secrets))
    return [f"+5.{item_id}.{secret}" for secret in secrets]


def make_offer(origin: str, *wanted: str, inputs: Sequence[str] = ()) -> str:
    """Offer the inputs for outputs such as `+5.deed_x`, under fresh secrets.

    Return the id.
    """
    outputs = [f"{each}.{make_strong_secret()}" for each in wanted]
    return str(
        post(f"{origin}/v1/offers", {"inputs": inputs, "outputs": outputs})["offerId"]
    )


def link(origin: str, raw: str) -> str:
    """Return the claim link of a raw output whose secret needs no escaping."""
    amount, item_id, secret = raw.split(".", 2)
    return f"{origin}/claim/{item_id}#{amount}.{secret}"


def spend(origin: str, raw: str) -> None:
    """Spend an output as somebody who has a copy of its secret."""
    made = f"{raw.rpartition('.')[0]}.{uuid4().hex}"
    assert post(f"{origin}/v1/swap", {"inputs": [raw], "outputs": [made]}) == {
        "success": True
    }


def check(origin: str, raws: list[str]) -> list[str]:
    return post(f"{origin}/v1/check", {"outputs": raws})["states"]


def take(page: Page) -> None:
    page.get_by_role("button", name=TAKE, exact=True).click()


def paste(page: Page, text: str) -> None:
    page.get_by_label(PASTE).fill(text)
    page.get_by_role("button", name="Continue").click()


def wait_for_rows(page: Page, *kinds: str) -> None:
    """Wait until the Claim page shows these states, from the first row to the last."""
    read = "rows => rows.map((row) => row.dataset.state)"
    wait_until(lambda: page.locator(".found").evaluate_all(read) == list(kinds))
    expect(page.locator("#found[data-looking]")).to_have_count(0)


def hold(
    visitor: Visitor, *given: int, metadata: dict[str, str] | None = None
) -> tuple[Page, str]:
    """Mint these amounts into the visitor's wallet.

    Return the deed's page and the item's id.
    """
    page = visitor.go("/wallet")
    outputs = [{"amount": amount} for amount in given]
    item_id = str(page.evaluate("given => inBrowser.mint(given)", [outputs, metadata]))
    open_deed(page, item_id)
    return page, item_id


def hold_links(
    visitor: Visitor,
    count: int,
    *,
    unit: str = "",
    metadata: dict[str, str] | None = None,
) -> tuple[Page, str]:
    """Mint so many links of one unit; return the deed's page and the item's id."""
    page = visitor.go("/wallet")
    wanted = {"links": {"count": count, "each": 1}, "unit": unit}
    item_id = str(page.evaluate("given => inBrowser.mint(given)", [wanted, metadata]))
    open_deed(page, item_id)
    return page, item_id


def open_deed(page: Page, item_id: str) -> None:
    """Follow the row of the list that leads to a deed."""
    page.locator(f"[data-row] a[href='#{item_id}']").click()
    page.locator("[data-holding]").wait_for()


def send(page: Page, amount: str) -> Locator:
    """Ask for a link on the page of a deed; return the dialog that shows it."""
    page.get_by_label("How many?").fill(amount)
    page.get_by_role("button", name="Send").click()
    return page.get_by_role("dialog")


def send_offline(visitor: Visitor, amount: str) -> None:
    """Ask for a link without a network, and see that it has to wait."""
    visitor.context.set_offline(offline=True)
    send(visitor.page, amount)
    expect(visitor.page.locator("[data-wait]")).not_to_be_empty()
    expect(visitor.page.locator("[data-holding] .error:visible")).to_have_count(0)
    expect(visitor.page.get_by_role("heading", name="Not finished yet")).to_be_visible()


def give(page: Page, amount: str) -> None:
    """Make a link, and close the dialog that shows it."""
    send(page, amount).get_by_role("button", name="Done").click()


def open_parts(page: Page) -> None:
    page.locator("[data-part=parts] > summary").click()


def records(page: Page, kind: str = "outputs") -> list[dict[str, Any]]:
    """Return what the browser keeps."""
    return page.evaluate("kind => inBrowser.records(kind)", kind)


def amounts(page: Page) -> dict[str, list[int]]:
    """Return the amounts that the browser keeps in each state, in order."""
    found: dict[str, list[int]] = {}
    for record in sorted(records(page), key=lambda record: record["amount"]):
        found.setdefault(record["state"], []).append(record["amount"])
    return found


def raws(page: Page, *states: str) -> list[str]:
    """Return the raw outputs that the browser keeps in these states."""
    return [
        f"+{record['amount']}.{record['itemId']}.{record['secret']}"
        for record in records(page)
        if record["state"] in states
    ]


def operations(page: Page) -> list[tuple[str, str]]:
    """Return kind and state of each operation, oldest first."""
    kept = sorted(records(page, "operations"), key=lambda record: record["begunAt"])
    return [(record["kind"], record["state"]) for record in kept]


def live_amounts(origin: str, page: Page) -> list[int]:
    """Return the amounts of a wallet's outputs that the service would still swap."""
    kept = raws(page, *amounts(page))
    states = check(origin, kept)
    live = [raw for raw, state in zip(kept, states, strict=True) if state == "unspent"]
    return sorted(int(raw[1:].partition(".")[0]) for raw in live)
