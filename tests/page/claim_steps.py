"""What a person does on the Claim page, and what can be seen there."""

from playwright.sync_api import Page, expect

from tests.support.waiting import wait_until

PASTE = "Claim links or raw outputs"
TAKE = "Take custody"


def take(page: Page) -> None:
    """Take custody of what is shown."""
    page.get_by_role("button", name=TAKE).click()


def paste(page: Page, text: str) -> None:
    """Let the page look at a text."""
    page.get_by_label(PASTE).fill(text)
    page.get_by_role("button", name="Look at it").click()


def wait_for_rows(page: Page, *kinds: str) -> None:
    """Wait until these are the states that are shown, from the first row to the last."""
    read = "rows => rows.map((row) => row.dataset.state)"
    wait_until(lambda: page.locator(".found").evaluate_all(read) == list(kinds))
    expect(page.locator("#looking")).to_be_hidden()
