"""The pages /, /claim and /wallet and the files that all pages load."""

import gzip
import re

import pytest

from deeds.page.static_files import read_static_files
from tests.support.html import read_html
from tests.support.requests import mint
from tests.support.serving import REPOSITORY

PAGES = ["/", "/claim", "/wallet", "/item/deed_x"]
POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data: https: http:; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
FIRST_LOAD_BYTES_MAX = 60_000
SQUEEZED = {"Accept-Encoding": "gzip"}
STATIC = REPOSITORY / "deeds" / "page" / "static"
SCRIPTS = sorted((STATIC / "js").rglob("*.js"))


@pytest.fixture
def database_url(sqlite_url):
    """One kind of database will do here."""
    return sqlite_url


def loaded(html):
    """Return what a page loads at once: its links, scripts and pictures."""
    places = [("link", "href"), ("script", "src"), ("img", "src")]
    found = [
        element.attributes[name]
        for tag, name in places
        for element in html.all(tag)
        if element.attributes.get("rel") != "canonical" and element.attributes.get(name)
    ]
    return sorted(set(found))


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_a_strict_policy(client, path):
    headers = client.get(path).headers

    assert headers["Content-Security-Policy"] == POLICY


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_nothing_inline_and_loads_only_files_of_this_service(client, path):
    html = read_html(client.get(path).text)

    assert html.all("style") == []
    assert [each for each in html.all("script") if each.text.strip()] == []
    named = [name for each in html.elements for name in each.attributes]
    assert [name for name in named if name == "style" or name.startswith("on")] == []
    for address in loaded(html):
        assert client.get(address).status_code == 200


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_a_title_a_language_a_heading_and_landmarks(client, path):
    html = read_html(client.get(path).text)

    assert html.one("html").attributes["lang"] == "en"
    assert html.one("title").text.endswith(" · Deeds")
    assert html.all("h1") != []
    assert html.one("main").attributes["id"] == "main"
    assert html.one("a", class_="skip").attributes["href"] == "#main"
    ids = [each.attributes["id"] for each in html.elements if "id" in each.attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", PAGES)
def test_every_id_that_a_page_refers_to_is_there(client, path):
    html = read_html(client.get(path).text)

    ids = {each.attributes.get("id") for each in html.elements}
    named = [
        name
        for each in html.elements
        for attribute in ("for", "aria-describedby", "aria-labelledby")
        for name in (each.attributes.get(attribute) or "").split()
    ]

    assert [name for name in named if name not in ids] == []


@pytest.mark.parametrize("path", ["/", "/claim", "/wallet"])
def test_a_page_that_needs_scripts_says_so_without_them(client, path):
    assert "needs JavaScript" in read_html(client.get(path).text).one("noscript").text


@pytest.mark.parametrize("path", ["/", "/claim", "/wallet", "item"])
def test_the_first_load_of_a_page_is_small(client, path):
    path = f"/item/{mint(client, '+1.a')}" if path == "item" else path
    page = client.get(path, headers=SQUEEZED)
    html = read_html(gzip.decompress(page.data).decode())

    sizes = {each: len(client.get(each, headers=SQUEEZED).data) for each in loaded(html)}

    assert len(sizes) >= 2
    assert len(page.data) + sum(sizes.values()) < FIRST_LOAD_BYTES_MAX


@pytest.mark.parametrize("path", ["/", "/problems", "/docs/swagger-ui.css"])
@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("gzip", "gzip"), ("br, gzip;q=0.5", "gzip"), ("*", "gzip"), ("br", None), ("gzip;q=0", None)],
)
def test_what_is_text_is_compressed_for_those_who_take_it(client, path, accepted, encoding):
    plain = client.get(path)

    answer = client.get(path, headers={"Accept-Encoding": accepted})

    assert answer.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
    assert answer.headers.get("Content-Encoding") == encoding
    assert (answer.headers["ETag"] == plain.headers["ETag"]) == (encoding is None)
    assert (gzip.decompress(answer.data) if encoding else answer.data) == plain.data


def test_answers_with_secrets_are_never_compressed(client):
    body = {"outputs": ["+1.a"] + [f"+1.{number}" for number in range(100)]}

    answers = [
        client.post("/v1/mint", json=body, headers=SQUEEZED),
        client.post("/web/qr", json={"text": "a" * 500}, headers=SQUEEZED),
    ]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.headers.get("Content-Encoding") for answer in answers] == [None, None]


def test_a_page_that_holds_a_large_picture_is_not_compressed_each_time(client):
    image = "data:image/png;base64," + "A" * 100_000
    answer = client.post("/v1/mint", json={"outputs": ["+1.a"], "metadata": {"image": image}})

    page = client.get(f"/item/{answer.get_json()['itemId']}", headers=SQUEEZED)

    assert (page.status_code, page.headers.get("Content-Encoding")) == (200, None)
    assert image in page.text


def test_a_file_may_be_kept_for_good_under_its_address(client):
    static = read_static_files()

    for name, file in static.by_name.items():
        answer = client.get(static.url(name))
        assert (answer.status_code, answer.data) == (200, file.content)
        assert answer.content_type == file.media_type
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


@pytest.mark.parametrize(
    "path",
    [
        "0123456789abcdef/deeds.css",
        "{version}/nothing.css",
        "{version}/../pages.py",
        "{version}/..%2Fpages.py",
        "{version}/js",
        "{version}/js/",
        "{version}/JS/dom.js",
        "{version}//deeds.css",
        "{version}/templates/base.html",
        "{version}/deeds.css%00",
    ],
)
def test_nothing_else_is_served_and_nothing_of_another_release(client, path):
    answer = client.get("/web/" + path.format(version=read_static_files().version))

    assert (answer.status_code, answer.get_json()["code"]) == (404, "not_found")
    assert answer.headers["Cache-Control"] == "no-store"


def static_files_of(directory, texts):
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_static_files(directory)


def test_any_change_of_any_file_changes_all_addresses(tmp_path):
    sets = [
        {"deeds.css": "a{}", "js/a.js": "b", "js/b.js": ""},
        {"deeds.css": "a{", "js/a.js": "b", "js/b.js": ""},
        {"deeds.css": "a{}", "js/a.js": "", "js/b.js": "b"},
        {"deeds.css": "a{}", "js/a.js": "b", "js/c.js": ""},
        {"deeds.css": "a{}", "js/a.js": "b"},
    ]

    versions = {
        static_files_of(tmp_path / str(number), texts).version for number, texts in enumerate(sets)
    }

    assert len(versions) == len(sets)


def test_a_page_names_all_modules_that_its_script_imports(tmp_path):
    texts = {
        "js/pages/p/page.js": 'import { a } from "../../a.js";\nimport {\n  b,\n} from "./b.js";\n',
        "js/a.js": 'export { c } from "./q/r/c.js";\nimport "./pages/p/page.js";',
        "js/pages/p/b.js": "import * as c from '../../q/r/c.js';\n",
        "js/q/r/c.js": '// import "../../d.js"\n',
        "js/d.js": "",
    }

    modules = static_files_of(tmp_path, texts).modules

    assert modules == {"p": ("js/pages/p/page.js", "js/a.js", "js/pages/p/b.js", "js/q/r/c.js")}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_makes_no_html_of_texts_and_asks_no_other_host(script):
    code = re.sub(r"^\s*(//|/?\*).*$", "", script.read_text(), flags=re.MULTILINE)

    dangerous = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    assert re.findall(dangerous, code) == []
    assert re.findall(r"""["'`](?:https?:)?//[a-z]""", code) == []


def test_the_style_sheet_loads_nothing():
    assert re.findall(r"@import|url\(", (STATIC / "deeds.css").read_text()) == []
