"""Takes pictures of every page, for people to look at; where they are is said after all tests."""

from tests.page.reporting import SCREENSHOTS
from tests.page.screenshots import take_screenshots


def test_pictures_of_all_pages_are_taken(browser, web_service, pages, tmp_path_factory, request):
    directory = tmp_path_factory.mktemp("screenshots")

    taken = take_screenshots(browser, web_service.url, pages, directory)

    request.config.stash[SCREENSHOTS] = f"{len(taken)} pictures of the page: {directory}"
    assert sorted(directory.iterdir()) == sorted(taken)
    assert len(taken) == 4 * (len(pages) + 4)
    for path in taken:
        assert path.read_bytes().startswith(b"\x89PNG"), path
