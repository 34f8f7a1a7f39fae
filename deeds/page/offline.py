"""What lets the pages be installed and open without a network: the manifest and service worker."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from flask import Blueprint, Response, render_template

from deeds.blueprints.responses import file_answer
from deeds.page.static_files import MEDIA_TYPES, StaticFiles

_TEMPLATES = Path(__file__).parent / "templates"


def serve_offline(
    blueprint: Blueprint, static: StaticFiles, pages: Sequence[str], settings: object
) -> None:
    """Add the routes; `pages` hold nothing personal, and `settings` are what stands in them."""
    worker = _worker(static, pages, settings)

    @blueprint.get("/sw.js", endpoint="worker")
    def read_worker() -> Response:
        answer = file_answer(worker, MEDIA_TYPES[".js"])
        # What the worker may fetch. It needs nothing from elsewhere.
        answer.headers["Content-Security-Policy"] = "default-src 'none'; connect-src 'self'"
        return answer

    @blueprint.get("/manifest.webmanifest", endpoint="manifest")
    def read_manifest() -> Response:
        text = render_template("manifest.webmanifest")
        return file_answer(text.encode(), "application/manifest+json")


def _worker(static: StaticFiles, pages: Sequence[str], settings: object) -> bytes:
    """Return the script of the worker. A release that changes any page changes it too."""
    templates = [path.read_bytes() for path in sorted(_TEMPLATES.glob("*.html"))]
    name = hashlib.sha256(repr((static.version, templates, settings)).encode()).hexdigest()[:16]
    # Pictures are for previews and for installing, and the reader of codes is loaded after a tap.
    unneeded = re.compile(r"\.png$|^sw\.js$|^vendor/")
    files = [each for each in static.by_name if not unneeded.search(each)]
    release = {
        "name": name,
        "version": static.version,
        "pages": list(pages),
        "files": [static.url(each) for each in files],
    }
    return f"const RELEASE = {json.dumps(release)};\n".encode() + static.by_name["sw.js"]
