"""Pictures of all pages, both themes and widths: python -m tests.page.screenshots [DIRECTORY]."""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from tests.page.browser import running_browser
from tests.page.samples import sample_pages
from tests.page.visitor import visiting
from tests.support.serving import running_service
from tests.support.waiting import wait_until

THEMES = ("light", "dark")
WIDTHS = (360, 1280)
HEIGHT = 800

# The line that says after all tests where the pictures are.
SCREENSHOTS = pytest.StashKey[str]()


def take_screenshots(
    browser: Browser, origin: str, pages: Mapping[str, str], directory: Path
) -> list[Path]:
    """Return the files that were written: one a page, theme and width."""
    directory.mkdir(parents=True, exist_ok=True)
    taken = []
    for theme in THEMES:
        for width in WIDTHS:
            viewport = {"width": width, "height": HEIGHT}
            with visiting(browser, origin, color_scheme=theme, viewport=viewport) as visitor:
                for name, path in pages.items():
                    visitor.go(path)
                    visitor.rest()
                    if name == "claim-found":
                        visitor.page.locator("#offer").wait_for()
                    taken.append(_take(visitor.page, directory / f"{name}-{theme}-{width}.png"))
                fill_in(visitor.go("/"))
                taken.append(_take(visitor.page, directory / f"mint-filled-{theme}-{width}.png"))
                mint(visitor.page)
                taken.append(_take(visitor.page, directory / f"minted-{theme}-{width}.png"))
                visitor.page.get_by_label("I have saved them").check()
                give(visitor.go("/wallet"))
                taken.append(_take(visitor.page, directory / f"given-{theme}-{width}.png"))
                visitor.page.get_by_role("button", name="Done").click()
                visitor.page.get_by_text("Parts: 2").click()
                taken.append(_take(visitor.page, directory / f"held-{theme}-{width}.png"))
    return taken


def fill_in(page: Page) -> None:
    """Fill in the form of the Mint page."""
    page.get_by_label("Name").fill("Ticket for the summer concert")
    page.get_by_label("Description").fill("One seat, on the lawn. Bring a blanket.")
    page.get_by_role("textbox", name="Units").fill("40")
    page.get_by_role("button", name="Add a part").click()
    page.get_by_role("textbox", name="Units").last.fill("2")
    page.get_by_label("Choose the secret myself").last.check()
    page.get_by_label("Secret", exact=True).last.fill("lawn party")


def mint(page: Page) -> None:
    """Send the form, and wait for what it gives."""
    page.get_by_role("button", name="Mint the deed").click()
    page.get_by_role("heading", name="Your deed is minted").wait_for()
    page.get_by_text("QR code").first.click()
    page.locator(".qr img").first.wait_for()
    wait_until(lambda: page.evaluate("document.querySelector('.qr img').naturalWidth > 0"))


def give(page: Page) -> None:
    """Make a link in My deeds, and wait for it."""
    page.get_by_label("Units to send").fill("3")
    page.get_by_role("button", name="Make a link").click()
    page.get_by_role("dialog").locator(".qr img").wait_for()
    wait_until(lambda: page.evaluate("document.querySelector('.qr img').naturalWidth > 0"))


def _take(page: Page, path: Path) -> Path:
    page.screenshot(path=path, full_page=True)
    return path


def main() -> None:
    """Take them of a service that is started for it."""
    directory = Path(sys.argv[1] if sys.argv[1:] else tempfile.mkdtemp(prefix="deeds-pages-"))
    with (
        tempfile.TemporaryDirectory() as data,
        running_service(Path(data), WEB_CONCURRENCY="1") as service,
        running_browser() as browser,
    ):
        taken = take_screenshots(browser, service.url, sample_pages(service.url), directory)
    sys.stdout.write(f"{len(taken)} pictures in {directory}\n")


if __name__ == "__main__":
    main()
