"""The pages for people, /docs and /problems: nothing from elsewhere, nothing inline."""

import re
from html.parser import HTMLParser
from http import HTTPStatus

import pytest

from deeds.blueprints.problem_table import PROBLEMS, Problem

PAGES = ["/docs", "/docs/", "/problems"]

FILES = {
    "/docs/docs.css": "text/css; charset=utf-8",
    "/docs/docs.js": "text/javascript; charset=utf-8",
    "/docs/favicon-32x32.png": "image/png",
    "/docs/swagger-ui-bundle.js": "text/javascript; charset=utf-8",
    "/docs/swagger-ui.css": "text/css; charset=utf-8",
    "/problems.css": "text/css; charset=utf-8",
}

CLOSED = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
POLICIES = {
    "/docs": f"{CLOSED}; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'",
    "/problems": f"{CLOSED}; style-src 'self'",
}


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


class Page(HTMLParser):
    """What a page holds that a browser would load or run, its ids, and its text."""

    def __init__(self, html):
        super().__init__()
        self.loaded, self.inline, self.ids, self.text = [], [], [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids += [found["id"]] if "id" in found else []
        self.inline += [name for name in found if name.startswith("on") or name == "style"]
        if tag == "style" or (tag == "script" and "src" not in found):
            self.inline.append(tag)
        if tag == "link":
            self.loaded.append(found["href"])
        elif "src" in found:
            self.loaded.append(found["src"])

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_only_files_of_this_service_and_runs_nothing_inline(client, path):
    answer = client.get(path)

    page = Page(answer.text)
    assert (answer.status_code, answer.content_type) == (200, "text/html; charset=utf-8")
    assert page.inline == []
    assert set(page.loaded) <= FILES.keys()


def test_every_file_is_loaded_by_a_page(client):
    loaded = {name for path in PAGES for name in Page(client.get(path).text).loaded}

    assert loaded == FILES.keys()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_a_strict_policy(client, path):
    answer = client.get(path)

    assert answer.headers["Content-Security-Policy"] == POLICIES[path.rstrip("/")]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(("path", "content_type"), FILES.items())
def test_a_file_is_served_with_its_type_and_only_when_it_has_changed(client, path, content_type):
    first = client.get(path)
    again = client.get(path, headers={"If-None-Match": first.headers["ETag"]})

    assert (first.status_code, first.content_type) == (200, content_type)
    assert first.headers["X-Content-Type-Options"] == "nosniff"
    assert first.headers["Cache-Control"] == "no-cache"
    assert len(first.data) > 100
    assert (again.status_code, again.data) == (304, b"")


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith(".css")])
def test_a_style_sheet_loads_nothing(client, path):
    style = client.get(path).text

    assert re.findall(r"@import|url\((?!\s*[\"']?data:)", style) == []


def test_our_script_names_no_other_host(client):
    script = client.get("/docs/docs.js").text

    assert 'url: "/openapi.json"' in script
    assert "validatorUrl: null" in script
    assert "//" not in re.sub(r"^ *//.*$", "", script, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "docs.html",
        "swagger-ui.js",
        "LICENSE",
        "../docs.py",
        "..%2Fdocs.py",
        "%2e%2e%2fdocs.py",
        "..\\docs.py",
        "/etc/passwd",
        "docs.js/",
        "docs.js%00",
    ],
)
def test_nothing_else_is_served_below_docs(client, name):
    answer = client.get(f"/docs/{name}")

    assert answer.status_code == 404
    assert answer.get_json()["code"] == "not_found"


def test_every_problem_is_on_the_page_that_its_type_names(client):
    page = Page(client.get("/problems").text)

    for problem in PROBLEMS.values():
        assert problem.type.removeprefix("/problems#") in page.ids
        assert problem.title in page.text
        assert problem.meaning in page.text
        assert f"{problem.status.value} {problem.status.phrase}" in page.text
    assert len(page.ids) == len(set(page.ids))


def test_texts_on_the_page_are_escaped(client, monkeypatch):
    odd = Problem("odd", HTTPStatus.BAD_REQUEST, "A <b>", "A <script>alert(1)</script> & co")
    monkeypatch.setitem(PROBLEMS, "odd", odd)

    html = client.get("/problems").text

    assert "A &lt;b&gt;" in html
    assert "A &lt;script&gt;alert(1)&lt;/script&gt; &amp; co" in html
    assert "<script" not in html
