"""Debian's Chromium, driven by Playwright, which brings no browser of its own here."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

HOW_TO_GET_IT = (
    "the tests of the page need Chromium: apt-get install chromium, or name it in CHROMIUM"
)


def find_chromium() -> str:
    """Return the path of Chromium; end the test in one line if there is none."""
    found = shutil.which(os.environ.get("CHROMIUM") or "chromium")
    if found is None:
        pytest.fail(HOW_TO_GET_IT, pytrace=False)
    return found


@contextmanager
def running_browser() -> Iterator[Browser]:
    """Run Chromium, without a window, until the block ends."""
    # Chromium cannot shut itself in where root runs it, as in most containers.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    # A name for this machine that browsers do not trust as they do localhost.
    arguments.append("--host-resolver-rules=MAP deeds.test 127.0.0.1")
    # A camera that shows a picture of its own making.
    arguments.append("--use-fake-device-for-media-stream")
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        try:
            yield browser
        finally:
            browser.close()
