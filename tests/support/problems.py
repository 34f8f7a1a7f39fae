"""Every error that the service answers, by its code."""

from deeds import errors
from parts.offers import errors as offers_errors

PROBLEMS = {each.code: each for each in errors.problems(errors, offers_errors)}
