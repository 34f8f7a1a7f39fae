"""What a person does on the Claim page, and what can be seen there."""

from playwright.sync_api import Page

from tests.page.samples import SHED, mint_deed, post
from tests.page.visitor import Visitor
from tests.support.waiting import wait_until

PASTE = "Claim links or raw outputs"


def mint(origin: str, *secrets: str, metadata: dict[str, str] | None = SHED) -> list[str]:
    """Mint five units for each secret; return the raw outputs."""
    item_id = mint_deed(origin, metadata, *(f"+5.{secret}" for secret in secrets))
    return [f"+5.{item_id}.{secret}" for secret in secrets]


def spend(origin: str, raw: str) -> None:
    """Let somebody else take an output."""
    other = f"{raw.rpartition('.')[0]}.somebody else's"
    post(f"{origin}/v1/swap", {"inputs": [raw], "outputs": [other]})


def states(visitor: Visitor, raws: list[str]) -> list[str]:
    """Return what the service says of the outputs."""
    found: list[str] = post(f"{visitor.origin}/v1/check", {"outputs": raws})["states"]
    return found


def take(page: Page) -> None:
    """Take custody of what is shown."""
    page.get_by_role("button", name="Take custody").click()


def paste(page: Page, text: str) -> None:
    """Let the page look at a text."""
    page.get_by_label(PASTE).fill(text)
    page.get_by_role("button", name="Look at it").click()


def wait_for_rows(page: Page, *kinds: str) -> None:
    """Wait until these are the states that are shown, from the first row to the last."""
    read = "rows => rows.map((row) => row.dataset.state)"
    wait_until(lambda: page.locator(".found").evaluate_all(read) == list(kinds))
    wait_until(lambda: not page.locator("#looking").is_visible())


def focused(page: Page) -> str:
    """Return the id of the element that has the focus."""
    found: str = page.evaluate("document.activeElement.id")
    return found
