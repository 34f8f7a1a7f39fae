"""All pages for people.

Nothing from elsewhere, nothing inline, and the files that they load.
"""

import gzip
from pathlib import PurePath

import pytest

from deeds.blueprints.problems import PROBLEMS
from deeds.blueprints.responses import MEDIA_TYPES
from deeds.page.static_files import read_static_files
from tests.page.html import Html
from tests.support.requests import ask_for, mint

PAGES = [
    "/",
    "/mint",
    "/claim",
    "/claim/{item_id}",
    "/offer",
    "/offer/{offer_id}",
    "/wallet",
    "/door",
    "/item/{item_id}",
    "/item/deed_x",
    "/docs",
    "/docs/",
    "/problems",
]

CLOSED = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
POLICIES = {
    "/docs": f"{CLOSED}; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'",
    "/problems": f"{CLOSED}; style-src 'self'; img-src 'self'; manifest-src 'self'",
}
OUR_POLICY = (
    f"{CLOSED}; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' blob: data: https: http:; "
    "worker-src 'self'; manifest-src 'self'; "
    "require-trusted-types-for 'script'; trusted-types deeds-offline"
)

TYPES = MEDIA_TYPES | {".webmanifest": "application/manifest+json"}
FIRST_LOAD_BYTES_MAX = 60_000
# Read once the page is there, or by those who install it.
LATER = ("manifest", "apple-touch-icon")
SQUEEZED = {"Accept-Encoding": "gzip"}


def loaded(html):
    """Return what a page loads.

    Its links, scripts and pictures, and of each whether at once.
    """
    named = [
        each.attributes
        for each in html.elements
        if each.tag in ("link", "script", "img")
    ]
    loading = [each for each in named if each.get("rel") != "canonical"]
    addresses = {
        each.get("href") or each.get("src"): each.get("rel") for each in loading
    }
    return {name: rel not in LATER for name, rel in addresses.items() if name}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_a_strict_policy_and_loads_few_bytes_all_of_this_service(
    client, path
):
    item_id = mint(client, "+1.a")
    answer = client.get(path.format(item_id=item_id, offer_id=ask_for(client, item_id)))

    html = Html(answer.text)
    assert answer.content_type == "text/html; charset=utf-8"
    assert answer.headers["Content-Security-Policy"] == POLICIES.get(
        path.rstrip("/"), OUR_POLICY
    )
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert html.all("style") == []
    assert [each for each in html.all("script") if each.text.strip()] == []
    named = [name for each in html.elements for name in each.attributes]
    assert [name for name in named if name == "style" or name.startswith("on")] == []
    is_at_once = loaded(html)
    files = {each: client.get(each, headers=SQUEEZED) for each in is_at_once}
    for name, file in files.items():
        assert (file.status_code, file.content_type) == (
            200,
            TYPES[PurePath(name).suffix],
        )
    if not path.startswith("/docs"):
        sizes = [len(file.data) for name, file in files.items() if is_at_once[name]]
        assert len(gzip.compress(answer.data)) + sum(sizes) < FIRST_LOAD_BYTES_MAX


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("br, gzip;q=0.5", "gzip"), ("*", "gzip"), ("gzip;q=0", None)],
)
def test_text_is_compressed_on_request_and_sent_again_only_when_changed(
    client, accepted, encoding
):
    for path in ["/", "/problems", "/docs/swagger-ui.css"]:
        plain = client.get(path)
        answer = client.get(path, headers={"Accept-Encoding": accepted})
        again = client.get(path, headers={"If-None-Match": plain.headers["ETag"]})

        assert answer.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
        assert answer.headers.get("Content-Encoding") == encoding
        assert (answer.headers["ETag"] == plain.headers["ETag"]) == (encoding is None)
        assert (gzip.decompress(answer.data) if encoding else answer.data) == plain.data
        assert plain.headers["Cache-Control"] == "no-cache"
        assert (again.status_code, again.data) == (304, b"")


def test_answers_with_secrets_and_pages_with_large_pictures_are_not_compressed(client):
    image = "data:image/png;base64," + "A" * 100_000
    body = {
        "outputs": [f"+1.{number}" for number in range(100)],
        "metadata": {"image": image},
    }
    minted = client.post("/v1/mint", json=body, headers=SQUEEZED)

    answers = [
        minted,
        client.post("/web/qr", json={"texts": ["a" * 500]}, headers=SQUEEZED),
        client.get(f"/item/{minted.get_json()['itemId']}", headers=SQUEEZED),
    ]

    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert [answer.headers.get("Content-Encoding") for answer in answers] == [
        None,
        None,
        None,
    ]


def test_a_file_may_be_kept_for_good_under_its_address(client):
    static = read_static_files()

    for name, content in static.by_name.items():
        answer = client.get(static.url(name))
        assert (answer.status_code, answer.data) == (200, content)
        assert answer.content_type == MEDIA_TYPES[PurePath(name).suffix]
        assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"


def test_nothing_else_is_served_and_nothing_of_another_release(client):
    version = read_static_files().version
    names = ["nothing.css", "..%2Fpages.py", "js/", "css/base.css%00"]
    paths = [
        "/docs/index.html",
        "/docs/%2e%2e%2f__init__.py",
        "/web/0123456789abcdef/css/base.css",
    ]

    for path in [*paths, *(f"/web/{version}/{name}" for name in names)]:
        answer = client.get(path)
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
        {"css/base.css": "a{}", "js/a.js": "b", "js/b.js": ""},
        {"css/base.css": "a{}", "js/a.js": "", "js/b.js": "b"},
        {"css/base.css": "a{}", "js/a.js": "b", "js/c.js": ""},
    ]

    found = [
        static_files_of(tmp_path / str(place), texts)
        for place, texts in enumerate(sets)
    ]

    assert len({each.version for each in found}) == len(sets)


def test_comments_on_lines_of_their_own_are_not_served(tmp_path):
    kept = 'a("//"); // b\n'
    text = f"// one\n/**\n * two * / */\n{kept}"
    text += "  /* three */\nlet c = /** @type {d} */ (e);\n"

    served = static_files_of(tmp_path, {"js/a.js": text, "a.svg": "<svg/>"}).by_name[
        "js/a.js"
    ]

    assert served == b'a("//"); // b\nlet c = /** @type {d} */ (e);\n'


def test_the_reader_of_codes_is_served_and_said_to_be_there_only_if_it_was_fetched(
    tmp_path,
):
    without = read_static_files(tmp_path, reader=tmp_path)
    for name in ("decode.js", "index.js"):
        (tmp_path / name).write_text("export {};")

    found = read_static_files(tmp_path, reader=tmp_path)

    vendored = {
        "vendor/qr/decode.js": b"export {};",
        "vendor/qr/index.js": b"export {};",
    }
    assert found.by_name.items() - without.by_name.items() >= vendored.items()
    assert vendored.keys() & without.by_name.keys() == set()
    assert found.version != without.version


def test_a_page_names_all_modules_that_its_script_imports(tmp_path):
    texts = {
        "js/pages/p/page.js": 'import { a } from "../../a.js";\n'
        'import {\n  b,\n} from "./b.js";\n',
        "js/a.js": 'export { c } from "./q/r/c.js";\nimport "./pages/p/page.js";',
        "js/pages/p/b.js": "import * as c from '../../q/r/c.js';\n",
        "js/q/r/c.js": '// import "../../d.js"\n',
        "js/d.js": "",
    }

    modules = static_files_of(tmp_path, texts).modules

    assert modules == {
        "p": ("js/pages/p/page.js", "js/a.js", "js/pages/p/b.js", "js/q/r/c.js")
    }


def test_every_problem_is_on_the_page_that_its_type_names(client):
    page = Html(client.get("/problems").text)

    ids = [each.attributes["id"] for each in page.elements if "id" in each.attributes]
    said = page.one("body").text
    for problem in PROBLEMS.values():
        assert ids.count(problem.code) == 1
        assert problem.title in said
        assert problem.meaning in said
