"""The static files of the pages, at addresses that change with any of the files.

Browsers may cache them forever, and modules of two releases never mix. The script of a
page, `js/pages/<page>/page.js`, is bundled with the modules that it imports. With the
manifest and the service worker, the pages can be installed and used offline.
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
# The npm package that reads QR codes (see package.json), if it was fetched.
# js/ui/scan.js loads it when needed, apart from the bundles.
READER = Path(__file__).parent / "node_modules" / "qr"
READER_FILES = ("decode.js", "index.js")
# The look-alike letters of UTS 39 (confusables), from another npm package.
# js/ui/origin.js fetches them; the script of that package is not served.
LOOK_ALIKES = READER.parent / "unhomoglyph" / "data.json"

# Only these files of Swagger UI, because its own page has inline scripts, which our
# policy forbids.
_SWAGGER_UI = files("flask_swagger_ui") / "dist"
_SWAGGER_UI_FILES = ("swagger-ui-bundle.js", "swagger-ui.css")

# The request headers that determine the language of a page.
LANGUAGE_HEADERS = ("Accept-Language", "Cookie")

# Comments on lines of their own, a third of the bytes. No line of a multi-line string
# in our files starts like a comment.
_COMMENTS = re.compile(
    rb"^[ \t]*(?://.*|/\*(?:[^*]|\*(?!/))*\*/[ \t]*)\n", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class StaticFiles:
    """The files by names such as `js/ui/dom.js`.

    `version` identifies the set of all files, templates and catalogues.
    """

    version: str
    by_name: Mapping[str, bytes]
    # Catalogues for templates, by language. Scripts load `languages/<language>.js`.
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
        # Texts of errors are in no template, and so in a separate catalogue.
        if (path / "problems.po").is_file():
            texts.merge(_read_translations(path / "problems.po"))
        translations[language] = texts
        script = _catalogue_script(path / "javascript.po")
        by_name[f"languages/{language}.js"] = script
    sources = [*_TEMPLATES.glob("*.html"), *_TRANSLATIONS.rglob("*.po")]
    templates = [path.read_bytes() for path in sorted(sources)]
    # Different sets have different repr() texts. 64 bits distinguish all releases.
    notation = repr((by_name, templates))
    version = hashlib.sha256(notation.encode()).hexdigest()[:16]
    return StaticFiles(version, by_name, translations)


def has_reader(reader: Path) -> bool:
    """Return whether the QR code reader was fetched."""
    return all((reader / name).is_file() for name in READER_FILES)


def serve_offline(
    blueprint: Blueprint, static: StaticFiles, pages: Sequence[str]
) -> None:
    """Add the routes of the service worker and the manifest.

    The worker caches `pages`, which must not contain personal data.
    """
    # Files that the worker does not cache in advance: pictures for previews and for
    # installation, packages that pages load when needed, other languages, and modules
    # that are in the pages' bundles.
    unneeded = re.compile(
        r"\.png$|^sw\.js$|^vendor/|^languages/|^js/(?!pages/\w+/page\.js$)"
    )

    @blueprint.get("/sw.js")
    def read_worker() -> Response:
        language = get_locale()
        own = f"languages/{language}.js"
        needed = [n for n in static.by_name if n == own or not unneeded.search(n)]
        release = {
            # Includes the language, so that after a switch the worker fetches all pages
            # again.
            "name": f"{static.version}-{language}",
            "version": static.version,
            "pages": pages,
            "files": [static.url(name) for name in needed],
        }
        head = f"const RELEASE = {json.dumps(release)};\n"
        worker = head.encode() + static.by_name["sw.js"]
        answer = file_answer(worker, MEDIA_TYPES[".js"])
        answer.vary.update(LANGUAGE_HEADERS)
        # The worker may fetch only from this origin.
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
    """Return a script with the catalogue, for js/format/gettext.js.

    A text with a plural has a list of forms. The catalogue's C expression that selects
    the form for a count is valid JavaScript, with the same result.
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
