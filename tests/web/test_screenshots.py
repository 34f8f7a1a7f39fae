"""Takes pictures of every page, for people to look at; where they are is said after all tests."""

import pytest

from tests.web.reporting import SCREENSHOTS
from tests.web.screenshots import take_screenshots


def test_pictures_of_all_pages_are_taken(browser, web_service, pages, tmp_path_factory, request):
    directory = tmp_path_factory.mktemp("screenshots")

    taken = take_screenshots(browser, web_service.url, pages, directory)

    request.config.stash[SCREENSHOTS] = f"{len(taken)} pictures of the page: {directory}"
    assert sorted(directory.iterdir()) == sorted(taken)
    assert len(taken) == 4 * (len(pages) + 4)
    for path in taken:
        assert path.read_bytes().startswith(b"\x89PNG"), path


def test_without_chromium_a_test_fails_and_says_how_to_get_it(monkeypatch):
    from tests.web.browser import HOW_TO_GET_IT, find_chromium

    monkeypatch.setenv("CHROMIUM", "no-such-browser")

    with pytest.raises(pytest.fail.Exception) as failed:
        find_chromium()

    assert str(failed.value) == HOW_TO_GET_IT
    assert "apt-get install chromium" in HOW_TO_GET_IT
    assert "\n" not in HOW_TO_GET_IT
