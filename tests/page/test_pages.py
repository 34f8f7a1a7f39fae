"""All pages for people.

Nothing from elsewhere, nothing inline, and the files that they load.
"""

from contextlib import closing
from pathlib import PurePath

import pytest

from parts.pages.answers import MEDIA_TYPES
from parts.pages.static_files import read_static_files
from tests.page.html import read_page
from tests.support.api import Api, create_app, environ_of, fresh, read_settings
from tests.support.commanding import printed_by
from tests.support.needs import require
from tests.support.problems import PROBLEMS

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
    "/help",
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
LOADING = ("link", "script", "img")
SQUEEZED = {"Accept-Encoding": "gzip"}
OF_TEXT = pytest.mark.parametrize("path", ["/", "/problems", "/sw.js"])


@pytest.fixture(params=PAGES)
def page(api, request):
    """The answer to a request for a page."""
    item_id = api.mint("+1.a")
    offer_id = api.offer_id([], [fresh(1, item_id)])
    path = request.param.format(item_id=item_id, offer_id=offer_id)
    return api.get(path, **SQUEEZED)


def test_a_page_has_a_strict_policy_and_nothing_inline(page):
    policy = POLICIES.get(page.url.path.rstrip("/"), OUR_POLICY)
    assert page.headers["Content-Security-Policy"] == policy
    html = read_page(page)
    attributes = {name for each in html.iter() for name in each.attrib}
    assert [name for name in attributes if name.startswith(("on", "style"))] == []
    assert html.find(".//style") is None
    assert [each for each in html.iter("script") if (each.text or "").strip()] == []


def test_a_page_loads_files_of_this_service_only(api, page):
    for element in read_page(page).iter():
        address = element.get("src") or element.get("href")
        is_loaded = element.tag in LOADING and element.get("rel") != "canonical"
        if is_loaded and address:
            file = api.get(address)
            assert file.status_code == 200
            assert file.headers["Content-Type"] == TYPES[PurePath(address).suffix]


@OF_TEXT
@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [("br, gzip;q=0.5", "gzip"), ("*", "gzip"), ("gzip;q=0", None)],
)
def test_text_is_compressed_on_request(api, path, accepted, encoding):
    plain = api.get(path, **{"Accept-Encoding": "identity"})

    answer = api.get(path, **{"Accept-Encoding": accepted})

    assert answer.headers.get("Content-Encoding") == encoding
    assert answer.content == plain.content
    assert "Accept-Encoding" in answer.headers["Vary"]
    is_same = answer.headers["ETag"] == plain.headers["ETag"]
    assert is_same == (encoding is None)


@OF_TEXT
def test_text_is_sent_again_only_when_it_has_changed(api, path):
    plain = api.get(path)
    tag = plain.headers["ETag"]

    again = api.get(path, **{"If-None-Match": tag})

    assert again.status_code == 304
    assert again.content == b""


def test_answers_with_secrets_and_large_pictures_are_not_compressed(api):
    outputs = [f"+1.{number}" for number in range(100)]
    image = "data:image/png;base64," + "A" * 100_000
    body = {"outputs": outputs, "metadata": {"image": image}}

    # The client accepts what is compressed.
    minted = api.post("/v1/mint", body)
    codes = api.post("/web/qr", {"texts": ["a" * 500]})
    page = api.get(f"/item/{minted.json()['itemId']}")

    answers = [minted, codes, page]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert [each for each in answers if "Content-Encoding" in each.headers] == []


def test_a_file_may_be_kept_for_good_under_its_address(api):
    static = read_static_files()
    kept = "public, max-age=31536000, immutable"

    answers = {name: api.get(static.url(name)) for name in static.by_name}

    assert {name: each.content for name, each in answers.items()} == static.by_name
    for name, answer in answers.items():
        assert answer.headers["Content-Type"] == MEDIA_TYPES[PurePath(name).suffix]
        assert answer.headers["Cache-Control"] == kept


@pytest.mark.parametrize(
    "path",
    [
        "/docs/index.html",
        "/web/0123456789abcdef/css/base.css",
        "/web/{version}/nothing.css",
        "/web/{version}/..%2Fpages.py",
        "/web/{version}/js/",
        "/web/{version}/css/base.css%00",
    ],
)
def test_nothing_else_is_served_and_nothing_of_another_release(api, path):
    answer = api.get(path.format(version=read_static_files().version))

    assert answer.status_code == 404
    assert answer.json()["code"] == "not_found"


def test_without_offers_there_is_no_page_of_one(sqlite_url):
    app = create_app(read_settings(environ_of(sqlite_url)), parts=("pages",))
    with closing(app.extensions["deeds"]):
        api = Api.of_app(app)
        answers = [api.get(path, Accept="text/html") for path in ("/offer", "/offer/x")]
        worker = api.get("/sw.js").text

    assert [each.status_code for each in answers] == [404, 404]
    assert {read_page(each).findtext(".//h1") for each in answers} == {
        "There is no page at this address"
    }
    assert '"/claim"' in worker
    assert '"/offer"' not in worker.partition("\n")[0]


def static_files_of(directory, texts):
    for name, text in texts.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_static_files(directory)


@pytest.mark.parametrize(
    "texts",
    [
        {"css/base.css": "a{}", "js/a.js": "", "js/b.js": "b"},
        {"css/base.css": "a{}", "js/a.js": "b", "js/c.js": ""},
    ],
    ids=["other texts", "another name"],
)
def test_any_change_of_any_file_changes_all_addresses(tmp_path, texts):
    before = {"css/base.css": "a{}", "js/a.js": "b", "js/b.js": ""}

    versions = {
        static_files_of(tmp_path / "before", before).version,
        static_files_of(tmp_path / "after", texts).version,
    }

    assert len(versions) == 2


@pytest.mark.parametrize(
    ("contact", "shown"),
    [
        ("", None),
        ("https://help.example/us?a=1&b=2", "help.example/us?a=1&amp;b=2</a>"),
        ("mailto:help@deeds.example", '"mailto:help@deeds.example">help@deeds.example'),
        ("Ann <at the bar>, Tel: +49", "<bdi>Ann &lt;at the bar&gt;, Tel: +49</bdi>"),
    ],
)
def test_help_says_whom_to_ask_where_the_operator_is_named(open_api, contact, shown):
    page = open_api(DEEDS_CONTACT=contact).get("/help").text

    said = page.partition("Questions about this service: ")[2]
    assert (shown in said.partition("</p>")[0]) if shown else not said


def test_a_name_of_mixed_alphabets_is_marked_on_the_page_of_its_deed(api):
    said = "This name mixes alphabets: it may imitate another name."

    for name, is_mixed in [
        ("G\u0430rden Concert", True),
        ("Garden Концерт Ωδή", False),
    ]:
        item_id = api.mint("+5.a", metadata={"name": name})
        page = api.http.get(f"/item/{item_id}", headers={"Accept": "text/html"}).text
        assert (said in page) is is_mixed
        assert page.count('translate="no"') == 3


def test_what_letters_look_like_is_served_if_it_was_fetched(tmp_path):
    table = tmp_path / "data.json"
    table.write_text("{}")

    found = [
        read_static_files(tmp_path, look_alikes=each).by_name
        for each in (table, tmp_path)
    ]

    name = "vendor/unhomoglyph/data.json"
    assert [each.get(name) for each in found] == [b"{}", None]


def test_the_reader_of_codes_is_served_if_it_was_fetched(tmp_path):
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


MODULES = {
    "js/pages/p/page.js": 'import { word } from "../../ui/b.js";\n'
    'import {\n  count,\n  word as other,\n} from "../../a.js";\n'
    "await 0;\nconsole.log(word, other, count());\n",
    "js/ui/b.js": 'import { count } from "../a.js";\n'
    "export const word = `b${count()}`;\n",
    "js/a.js": 'let times = 0;\nexport const word = "a";\n'
    "export function count() {\n  return (times += 1);\n}\n",
    "js/unused.js": 'throw new Error("not of this page");\n',
}


def test_the_script_of_a_page_holds_each_module_once_and_in_order(tmp_path):
    require("node 20 or newer")

    script = static_files_of(tmp_path, MODULES).by_name["js/pages/p/page.js"]

    printed = printed_by("node", "--input-type=module", "--eval", script.decode())
    assert printed == "b1 a 2\n"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('import "./ui/b.js";', "cannot be joined: import"),
        ('import b from "./ui/b.js";', "cannot be joined: import b"),
        ('import * as b from "./ui/b.js";', r"cannot be joined: import \*"),
        ('import { word } from "./ui/b.js";', "cycle"),
        ("export let changing;", "cannot be joined: export let"),
        ("export default 1;", "cannot be joined: export default"),
        ("export { times };", "cannot be joined: export {"),
        ('export * from "./ui/b.js";', r"cannot be joined: export \*"),
    ],
)
def test_what_cannot_be_joined_stops_the_start(tmp_path, line, problem):
    others = {"js/a.js": f"{MODULES['js/a.js']}{line}\n"}

    with pytest.raises(ValueError, match=problem):
        static_files_of(tmp_path, MODULES | others)


def test_every_problem_is_on_the_page_that_its_type_names(api):
    page = read_page(api.get("/problems"))

    ids = [each.get("id") for each in page.iter()]
    said = "".join(page.itertext())
    assert [code for code in PROBLEMS if ids.count(code) != 1] == []
    texts = [text for each in PROBLEMS.values() for text in (each.title, each.meaning)]
    assert [text for text in texts if text not in said] == []
