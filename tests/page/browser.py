"""Debian's Chromium, driven by Playwright, which brings no browser of its own here."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.support.needs import chromium_path, require


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run Chromium, without a window, until the block ends."""
    # Chromium cannot shut itself in where root runs it, as in most containers.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    # A name for this machine that browsers do not trust as they do localhost.
    arguments.append("--host-resolver-rules=MAP deeds.test 127.0.0.1")
    # A camera that shows a picture of its own making.
    arguments.append("--use-fake-device-for-media-stream")
    require("Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=arguments)
        try:
            yield browser
        finally:
            browser.close()
