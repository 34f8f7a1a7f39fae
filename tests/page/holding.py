"""The My deeds page: deeds put into it, what a person does there, and what is kept."""

from typing import Any

from playwright.sync_api import Locator, Page

from tests.page.samples import check
from tests.page.visitor import Visitor


def hold(
    visitor: Visitor, *amounts: int, metadata: dict[str, str] | None = None
) -> tuple[Page, str]:
    """Mint an item into the visitor's wallet; return the My deeds page and the item's id."""
    page = visitor.go("/wallet")
    outputs = [{"amount": amount} for amount in amounts]
    item_id = page.evaluate("given => inBrowser.mint(given)", [outputs, metadata])
    page.locator("[data-holding]").first.wait_for()
    return page, str(item_id)


def send(page: Page, amount: str) -> Locator:
    """Ask for a link; return the dialog that shows it."""
    page.get_by_label("Units to send").fill(amount)
    page.get_by_role("button", name="Make a link").click()
    return page.get_by_role("dialog")


def give(page: Page, amount: str) -> None:
    """Make a link, and close the dialog that shows it."""
    send(page, amount).get_by_role("button", name="Done").click()


def open_parts(page: Page) -> None:
    """Open the list of the outputs of a deed."""
    page.locator("[data-part=parts] > summary").click()


def records(page: Page, kind: str = "outputs") -> list[dict[str, Any]]:
    """Return what the browser keeps."""
    found: list[dict[str, Any]] = page.evaluate("kind => inBrowser.records(kind)", kind)
    return found


def amounts(page: Page) -> dict[str, list[int]]:
    """Return the amounts that the browser keeps in each state, in order."""
    found: dict[str, list[int]] = {}
    for record in sorted(records(page), key=lambda record: record["amount"]):
        found.setdefault(record["state"], []).append(record["amount"])
    return found


def raws(page: Page, state: str) -> list[str]:
    """Return the raw outputs of one state."""
    return [
        f"+{record['amount']}.{record['itemId']}.{record['secret']}"
        for record in records(page)
        if record["state"] == state
    ]


def operations(page: Page) -> list[tuple[str, str]]:
    """Return kind and state of each operation, oldest first."""
    kept = sorted(records(page, "operations"), key=lambda record: record["begunAt"])
    return [(record["kind"], record["state"]) for record in kept]


def live_amounts(origin: str, page: Page) -> list[int]:
    """Return the amounts of the outputs in a wallet that the service would still swap."""
    kept = [raw for state in amounts(page) for raw in raws(page, state)]
    states = check(origin, kept)
    live = [raw for raw, state in zip(kept, states, strict=True) if state == "unspent"]
    return sorted(int(raw[1:].partition(".")[0]) for raw in live)
