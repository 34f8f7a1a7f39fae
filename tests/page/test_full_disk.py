"""A wallet on a disk that is full: nothing is written, and nothing is lost."""

import threading
from contextlib import contextmanager

import pytest

from tests.page.steps import (
    amounts,
    claim,
    claim_link,
    expect_shown,
    mint_outputs,
    press,
    wait_for_rows,
)
from tests.page.visitor import make_profile, using
from tests.support.mounts import mounted
from tests.support.needs import ROOT, require
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

FULL = "This device is full: free some space"


@pytest.fixture
def small_disk(tmp_path):
    """A directory on a disk of its own with 64 MB."""
    require(ROOT)
    path = tmp_path / "disk"
    path.mkdir()
    with mounted(path, "-t", "tmpfs", "-o", "size=64m", "tmpfs"):
        yield path


@pytest.fixture
def profile(small_disk, web_service):
    """A profile in which Chromium may not clear the storage of the service.

    Without that a full disk makes it clear what was used least, here all there is.
    """
    setting = {"last_modified": "13300000000000000", "setting": 1}
    kept = {"durable_storage": {f"{web_service.url},*": setting}}
    settings = {"profile": {"content_settings": {"exceptions": kept}}}
    return make_profile(small_disk / "profile", settings)


@contextmanager
def filled(disk):
    """Keep a disk full within the block, whatever else of it is deleted."""
    ballast = disk / "ballast"
    is_over = threading.Event()
    is_full = threading.Event()

    def fill():
        with ballast.open("wb", buffering=0) as file:
            while not is_over.is_set():
                try:
                    file.write(bytes(4096))
                except OSError:
                    is_full.set()
                    is_over.wait(0.005)

    thread = threading.Thread(target=fill)
    thread.start()
    try:
        is_full.wait()
        yield
    finally:
        is_over.set()
        thread.join()
        ballast.unlink()


def open_link(person, raw):
    page = person.open_tab(claim_link("", raw))
    wait_for_rows(page, "free")
    return page


def test_on_a_full_disk_nothing_is_written_and_a_tap_goes_on(
    browser, profile, web_service
):
    with using(browser, profile, web_service.url) as person:
        first, second = mint_outputs(person.api, "full-1", "full-2")
        claim(person, first)
        page = open_link(person, second)

        with filled(profile.parent):
            press(page, "Claim")
            expect_shown(page, FULL)
            assert person.api.check(second) == ["unspent"]
        button = page.get_by_role("button", name="Claim", exact=True)

        def is_taken():
            # Chromium may hear of the room a moment later.
            if button.is_visible():
                button.click()
            return page.locator(".found[data-state=taken]").is_visible()

        wait_until(is_taken)
    with using(browser, profile, web_service.url) as person:
        assert amounts(person.go("/wallet"))["held"] == [5, 5]


# As if the page had gone in the middle of a write.
LEAVE_MARK = """async () => {
  const root = await navigator.storage.getDirectory();
  const place = await root.getDirectoryHandle("deeds.room", {create: true});
  await place.getFileHandle("left", {create: true});
}"""
# The beginning of a record of 32,767 bytes; the rest was never written to the log.
HALF_A_RECORD = bytes(4) + b"\xff\x7f\x01" + bytes(200)


def test_what_is_written_after_a_write_broke_off_is_there_after_a_restart(
    browser, tmp_path, web_service
):
    with using(browser, tmp_path, web_service.url) as person:
        first, second = mint_outputs(person.api, "torn-1", "torn-2")
        claim(person, first).evaluate(LEAVE_MARK)
    [log] = tmp_path.glob("Default/IndexedDB/*.leveldb/*.log")
    with log.open("ab") as file:
        file.write(HALF_A_RECORD)

    with using(browser, tmp_path, web_service.url) as person:
        claim(person, second)

    with using(browser, tmp_path, web_service.url) as person:
        assert amounts(person.go("/wallet"))["held"] == [5, 5]
