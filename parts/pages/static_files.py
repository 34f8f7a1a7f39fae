"""The files that the pages load, at addresses that change whenever a file changes.

Browsers may cache them forever, and the modules of two releases never mix. The script
of a page, `js/pages/<page>/page.js`, is served with all modules that it imports joined
before it: a browser fetches one file. The manifest and the service worker let the pages
be installed and open without a network.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from io import BytesIO
from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import Translations
from flask import Blueprint, Response, render_template
from flask_babel import get_locale

from parts.pages.answers import MEDIA_TYPES, file_answer
from parts.pages.joined_scripts import join_scripts

_TEMPLATES = Path(__file__).parent / "templates"
_TRANSLATIONS = Path(__file__).parent / "translations"
STATIC = Path(__file__).parent / "static"
# The npm package that reads QR codes, if it was fetched: package.json beside it names
# it. A page loads it as js/ui/scan.js says, never with its modules.
READER = Path(__file__).parent / "node_modules" / "qr"
READER_FILES = ("decode.js", "index.js")
# The confusables of UTS 39, of another npm package: letters by what they look like. A
# page fetches them as js/ui/origin.js says; the script of that package is not served.
LOOK_ALIKES = READER.parent / "unhomoglyph" / "data.json"

# Of Swagger UI only these: its own page has scripts in the HTML, which our policy
# forbids.
_SWAGGER_UI = files("flask_swagger_ui") / "dist"
_SWAGGER_UI_FILES = ("swagger-ui-bundle.js", "swagger-ui.css")

# What the language of a page depends on.
LANGUAGE_HEADERS = ("Accept-Language", "Cookie")

# Comments that have lines of their own: a third of what browsers would load. No text of
# ours that spans lines has a line that starts like this.
_COMMENTS = re.compile(
    rb"^[ \t]*(?://.*|/\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """The files by names such as `js/ui/dom.js`.

    `version` is one of the whole set and of the pages' templates.
    """

    version: str
    by_name: Mapping[str, bytes]
    # Of the pages, by language; those of their scripts are `languages/<language>.js`.
    translations: Mapping[str, Translations]

    def url(self, name: str) -> str:
        """Return the address of a file."""
        return f"/web/{self.version}/{name}"


def read_static_files(
    directory: Path = STATIC, reader: Path = READER, look_alikes: Path = LOOK_ALIKES
) -> StaticFiles:
    """Return the files below a directory, and those of packages as `vendor/…`."""
    by_name = {
        str(path.relative_to(directory)): _read(path)
        for path in sorted(directory.rglob("*"))
        if path.suffix in MEDIA_TYPES
    }
    by_name |= join_scripts(by_name)
    if has_reader(reader):
        for name in READER_FILES:
            by_name[f"vendor/qr/{name}"] = (reader / name).read_bytes()
    if look_alikes.is_file():
        by_name["vendor/unhomoglyph/data.json"] = look_alikes.read_bytes()
    for name in _SWAGGER_UI_FILES:
        by_name[f"vendor/swagger-ui/{name}"] = (_SWAGGER_UI / name).read_bytes()
    translations = {}
    for path in sorted(_TRANSLATIONS.glob("*/LC_MESSAGES")):
        language = path.parent.name
        texts = _read_translations(path / "messages.po")
        # Those of errors are in no template.
        if (path / "problems.po").is_file():
            texts.merge(_read_translations(path / "problems.po"))
        translations[language] = texts
        script = _catalogue_script(path / "javascript.po")
        by_name[f"languages/{language}.js"] = script
    sources = [*_TEMPLATES.glob("*.html"), *_TRANSLATIONS.rglob("*.po")]
    templates = [path.read_bytes() for path in sorted(sources)]
    # No two sets have the same notation in Python, and 64 bits tell releases apart.
    notation = repr((by_name, templates))
    version = hashlib.sha256(notation.encode()).hexdigest()[:16]
    return StaticFiles(version, by_name, translations)


def has_reader(reader: Path) -> bool:
    """Return whether the reader of QR codes was fetched."""
    return all((reader / name).is_file() for name in READER_FILES)


def serve_offline(
    blueprint: Blueprint, static: StaticFiles, pages: Sequence[str]
) -> None:
    """Add the routes of the service worker and the manifest.

    `pages` hold nothing personal.
    """
    # Pictures are for previews and for installing, the reader of codes is loaded after
    # a tap, the letters with a name that has some of them, and other modules than the
    # scripts of pages are in these.
    unneeded = re.compile(
        r"\.png$|^sw\.js$|^vendor/|^languages/|^js/(?!pages/\w+/page\.js$)"
    )

    @blueprint.get("/sw.js")
    def read_worker() -> Response:
        language = get_locale()
        own = f"languages/{language}.js"
        needed = [n for n in static.by_name if n == own or not unneeded.search(n)]
        release = {
            # In another language it is another release, so that a switch makes the
            # worker fetch the pages again.
            "name": f"{static.version}-{language}",
            "version": static.version,
            "pages": pages,
            "files": [static.url(name) for name in needed],
        }
        head = f"const RELEASE = {json.dumps(release)};\n"
        worker = head.encode() + static.by_name["sw.js"]
        answer = file_answer(worker, MEDIA_TYPES[".js"])
        answer.vary.update(LANGUAGE_HEADERS)
        # What the worker may fetch. It needs nothing from elsewhere.
        answer.headers["Content-Security-Policy"] = (
            "default-src 'none'; connect-src 'self'"
        )
        return answer

    @blueprint.get("/manifest.webmanifest")
    def read_manifest() -> Response:
        text = render_template("manifest.webmanifest")
        answer = file_answer(text.encode(), "application/manifest+json")
        answer.vary.update(LANGUAGE_HEADERS)
        return answer


def _read(path: Path) -> bytes:
    content = path.read_bytes()
    return _COMMENTS.sub(b"", content) if path.suffix in (".css", ".js") else content


def _read_translations(path: Path) -> Translations:
    compiled = BytesIO()
    write_mo(compiled, read_po(BytesIO(path.read_bytes())))
    compiled.seek(0)
    return Translations(compiled)


def _catalogue_script(path: Path) -> bytes:
    """Return what js/format/gettext.js reads.

    A text with a plural has a list of forms. Which of them a count takes is an
    expression in C, as catalogues have it, and JavaScript reads that the same.
    """
    catalogue = read_po(BytesIO(path.read_bytes()))
    texts = {}
    for message in catalogue:
        if message.id:
            english = message.id if isinstance(message.id, str) else message.id[0]
            texts[english] = message.string
    notation = json.dumps(texts, ensure_ascii=False)
    place = f"(n) => Number({catalogue.plural_expr})"
    script = f"globalThis.deedsCatalogue = {{ texts: {notation}, place: {place} }};\n"
    return script.encode()
