"""The offers part: its endpoints, tables, errors and limit.

Pages show offers, so the service of offers is in `app.extensions["deeds.offers"]`.
"""

from flask import Flask

from deeds.errors import problems
from deeds.part import Core, Part
from parts.offers import errors
from parts.offers.blueprint import OfferIdConverter, offers_blueprint
from parts.offers.ledger import (
    CHECKS,
    COUNTS,
    EXPIRES_IN_S_MAX,
    EXPIRES_IN_S_MIN,
    KIND,
    SCHEMA,
)
from parts.offers.service import OfferService


def register(app: Flask, core: Core) -> None:
    """Add the endpoints, and their bounds to GET /v1/info."""
    offers = OfferService(core.service, core.database, core.clock)
    app.extensions["deeds.offers"] = offers
    core.info["limits"]["offerExpiresInMin"] = EXPIRES_IN_S_MIN
    core.info["limits"]["offerExpiresInMax"] = EXPIRES_IN_S_MAX
    app.url_map.converters["offer"] = OfferIdConverter
    length_max = core.settings.array_length_max
    app.register_blueprint(offers_blueprint(offers, core.limits, length_max))


PART = Part(
    "offers",
    register,
    schema=SCHEMA,
    errors=problems(errors),
    limit_names=("offer",),
    checks=CHECKS,
    counts=COUNTS,
    kinds=(KIND,),
)
