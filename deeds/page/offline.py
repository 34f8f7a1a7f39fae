"""What lets the pages be installed and open without a network: the manifest and service worker."""

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from flask import Blueprint, Response

from deeds.blueprints.responses import file_answer
from deeds.page.static_files import MEDIA_TYPES, StaticFiles

_TEMPLATES = Path(__file__).parent / "templates"
_COLOUR = "#f7f6f2"


def serve_offline(
    blueprint: Blueprint, static: StaticFiles, pages: Sequence[str], settings: object
) -> None:
    """Add the routes; `pages` hold nothing personal, and `settings` are what stands in them."""
    worker = _worker(static, pages, settings)
    manifest = json.dumps(_manifest(static)).encode()

    @blueprint.get("/sw.js", endpoint="worker")
    def read_worker() -> Response:
        answer = file_answer(worker, MEDIA_TYPES[".js"])
        # What the worker may fetch. It needs nothing from elsewhere.
        answer.headers["Content-Security-Policy"] = "default-src 'none'; connect-src 'self'"
        return answer

    @blueprint.get("/manifest.webmanifest", endpoint="manifest")
    def read_manifest() -> Response:
        return file_answer(manifest, "application/manifest+json")


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


def _manifest(static: StaticFiles) -> dict[str, object]:
    icons = [
        ("icon-192.png", "192x192", "any"),
        ("icon-512.png", "512x512", "any"),
        ("icon-maskable-512.png", "512x512", "maskable"),
    ]
    return {
        "name": "Deeds",
        "short_name": "Deeds",
        "description": "Tickets, vouchers and shares you can hand over with a link.",
        "id": "/wallet",
        "start_url": "/wallet",
        "scope": "/",
        "display": "standalone",
        "background_color": _COLOUR,
        "theme_color": _COLOUR,
        "icons": [
            {"src": static.url(name), "sizes": sizes, "type": "image/png", "purpose": purpose}
            for name, sizes, purpose in icons
        ],
    }
