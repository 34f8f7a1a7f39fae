"""What pages have for others: nothing. Without them the interface is whole."""

from flask import Flask
from werkzeug.exceptions import NotFound

from deeds.part import Core, Part
from parts.pages.pages import add_languages, answer_not_found, pages_blueprint
from parts.pages.static_files import read_static_files


def register(app: Flask, core: Core) -> None:
    """Add the pages, of offers too where there are offers."""
    static = read_static_files()
    add_languages(app, static.translations)
    offers = app.extensions.get("deeds.offers")
    app.register_blueprint(pages_blueprint(core, static, offers))
    app.register_error_handler(NotFound, answer_not_found)


PART = Part("pages", register, limit_names=("qr",))
