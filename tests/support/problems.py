"""Every error that the service can return, by its code."""

from deeds import errors
from parts.minting import errors as minting_errors
from parts.offers import errors as offers_errors

_MODULES = (errors, minting_errors, offers_errors)
PROBLEMS = {each.code: each for each in errors.problems(*_MODULES)}
