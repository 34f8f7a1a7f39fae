"""The errors of offers, one class each."""

from deeds.errors import DeedError


class NotAnOfferError(DeedError):
    code = "not_an_offer"
    title = "Not an offer"
    meaning = (
        "An offer must want something: of at least one item more outputs than inputs."
    )


class OfferNotOpenError(DeedError):
    code = "offer_not_open"
    title = "Offer not open"
    meaning = "The offer is completed, expired or void, as detail says. Nothing moved."


class UnknownOfferError(DeedError):
    code = "unknown_offer"
    title = "No such offer"
    meaning = "No offer with this id exists here."
    status = 404
