"""The files that the pages load, at addresses that change whenever a file changes.

Browsers may cache them forever, and the modules of two releases never mix. The manifest
and the service worker let the pages be installed and open without a network.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from posixpath import dirname, normpath

from flask import Blueprint, Response, render_template

from deeds.blueprints.responses import MEDIA_TYPES, file_answer

_TEMPLATES = Path(__file__).parent / "templates"
STATIC = Path(__file__).parent / "static"
# The npm package that reads QR codes, if it was fetched: package.json beside it names
# it. A page loads it as js/ui/scan.js says, never with its modules.
READER = Path(__file__).parent / "node_modules" / "qr"
READER_FILES = ("decode.js", "index.js")

# Of Swagger UI only these: its own page has scripts in the HTML, which our policy
# forbids.
_SWAGGER_UI = files("flask_swagger_ui") / "dist"
_SWAGGER_UI_FILES = ("swagger-ui-bundle.js", "swagger-ui.css")

# The ways in which one of our modules names another; a name may stand lines below its
# keyword.
_IMPORT = re.compile(
    r"""^(?:import|export)\b[^"';]*["'](\.\.?/[a-z0-9_./]+\.js)["']""", re.MULTILINE
)

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
    # By page, all modules that it needs: a browser fetches them at once, not one after
    # the other.
    modules: Mapping[str, tuple[str, ...]]

    def url(self, name: str) -> str:
        """Return the address of a file."""
        return f"/web/{self.version}/{name}"


def read_static_files(directory: Path = STATIC, reader: Path = READER) -> StaticFiles:
    """Return the files below a directory, and those of packages as `vendor/…`.

    The scripts of pages are `js/pages/<page>/page.js`.
    """
    by_name = {
        str(path.relative_to(directory)): _read(path)
        for path in sorted(directory.rglob("*"))
        if path.suffix in MEDIA_TYPES
    }
    found = {f"vendor/qr/{name}": reader / name for name in READER_FILES}
    if all(path.is_file() for path in found.values()):
        by_name |= {name: path.read_bytes() for name, path in found.items()}
    for name in _SWAGGER_UI_FILES:
        by_name[f"vendor/swagger-ui/{name}"] = (_SWAGGER_UI / name).read_bytes()
    templates = [path.read_bytes() for path in sorted(_TEMPLATES.glob("*.html"))]
    # No two sets have the same notation in Python, and 64 bits tell releases apart.
    notation = repr((by_name, templates))
    version = hashlib.sha256(notation.encode()).hexdigest()[:16]
    scripts = {
        name.split("/")[-2]: name for name in by_name if name.endswith("/page.js")
    }
    modules = {page: _modules_of(name, by_name) for page, name in scripts.items()}
    return StaticFiles(version, by_name, modules)


def serve_offline(
    blueprint: Blueprint, static: StaticFiles, pages: Sequence[str], settings: object
) -> None:
    """Add the routes of the service worker and the manifest.

    `pages` hold nothing personal, and `settings` are what stands in them.
    """
    # Pictures are for previews and for installing, and the reader of codes is loaded
    # after a tap.
    unneeded = re.compile(r"\.png$|^sw\.js$|^vendor/")
    release = {
        # The settings stand in the pages.
        "name": f"{static.version}-{settings}",
        "version": static.version,
        "pages": pages,
        "files": [static.url(n) for n in static.by_name if not unneeded.search(n)],
    }
    head = f"const RELEASE = {json.dumps(release)};\n"
    worker = head.encode() + static.by_name["sw.js"]

    @blueprint.get("/sw.js")
    def read_worker() -> Response:
        answer = file_answer(worker, MEDIA_TYPES[".js"])
        # What the worker may fetch. It needs nothing from elsewhere.
        answer.headers["Content-Security-Policy"] = (
            "default-src 'none'; connect-src 'self'"
        )
        return answer

    @blueprint.get("/manifest.webmanifest")
    def read_manifest() -> Response:
        text = render_template("manifest.webmanifest")
        return file_answer(text.encode(), "application/manifest+json")


def _read(path: Path) -> bytes:
    content = path.read_bytes()
    return _COMMENTS.sub(b"", content) if path.suffix in (".css", ".js") else content


def _modules_of(name: str, by_name: Mapping[str, bytes]) -> tuple[str, ...]:
    # Near ones first; the list grows while it is read.
    found = [name]
    for each in found:
        imported = _IMPORT.findall(by_name[each].decode())
        modules = (normpath(f"{dirname(each)}/{path}") for path in imported)
        found += [module for module in dict.fromkeys(modules) if module not in found]
    return tuple(found)
