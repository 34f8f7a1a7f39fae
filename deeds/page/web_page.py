"""Makes a page: a template filled in, under the policy that all pages of this package have."""

from http import HTTPStatus
from typing import Any

from flask import Response, render_template

from deeds.blueprints.responses import page_answer
from deeds.page.static_files import StaticFiles

# Pictures come from wherever the metadata says, and scripts are files of ours alone: no text is
# ever made into HTML or code (Trusted Types).
_ALLOWED = "; ".join(
    (
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' blob: data: https: http:",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)

# The camera scans QR codes. A window that opened a page of ours, or that one opens, sees nothing.
_HEADERS = {
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def web_page(
    template: str, static: StaticFiles, *, status: int = HTTPStatus.OK, **values: Any
) -> Response:
    """Return the page of a template; its script is the one in the folder of the template's name."""
    name = template.removesuffix(".html")
    html = render_template(
        template,
        page=name,
        url=static.url,
        modules=[static.url(each) for each in static.modules_of(f"js/pages/{name}/page.js")],
        **values,
    )
    answer = page_answer(html, allowed=_ALLOWED, status=status)
    answer.headers.update(_HEADERS)
    return answer


def not_found_page(static: StaticFiles) -> Response:
    """Return the page for a browser that asked for a path that does not exist."""
    return web_page("not_found.html", static, status=HTTPStatus.NOT_FOUND)
