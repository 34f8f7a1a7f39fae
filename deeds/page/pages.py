"""GET /, /claim and /wallet: pages that are the same for everybody, and the files of all pages.

What is personal in them, secrets above all, is in the browser and never comes here.
"""

from flask import Blueprint, Response, abort

from deeds.blueprints.responses import FOREVER, file_answer
from deeds.page.static_files import StaticFiles
from deeds.page.web_page import web_page


def pages_blueprint(static: StaticFiles, *, array_length_max: int) -> Blueprint:
    """Return the blueprint; `array_length_max` is how many outputs a mint may have."""
    blueprint = Blueprint("pages", __name__, template_folder="templates")

    @blueprint.get("/")
    def read_mint_page() -> Response:
        return web_page("mint.html", static, outputs_max=array_length_max)

    @blueprint.get("/claim")
    def read_claim_page() -> Response:
        return web_page("claim.html", static)

    @blueprint.get("/wallet")
    def read_wallet_page() -> Response:
        return web_page("wallet.html", static)

    @blueprint.get("/web/<version>/<path:name>")
    def read_web_file(version: str, name: str) -> Response:
        file = static.by_name.get(name)
        # Another release's: to answer with ours would mix the modules of two.
        if file is None or version != static.version:
            abort(404)
        answer = file_answer(file.content, file.media_type)
        answer.headers["Cache-Control"] = FOREVER
        return answer

    return blueprint
