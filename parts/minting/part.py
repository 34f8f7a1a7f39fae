"""Requires a token for mints if one is set (contract 4.1, docs/minting.md).

Swaps, checks, offers and reads need no token.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from hashlib import sha256
from hmac import compare_digest
from typing import Any

from flask import Flask, Request, Response, request

from deeds.blueprints.answers import problem_answer
from deeds.blueprints.limits import ClientLimits
from deeds.blueprints.requests import client_of
from deeds.errors import problems
from deeds.part import Core, Finding, Ledger, Part
from parts.minting import errors
from parts.minting.errors import (
    MintTokenError,
    MintTokenRequiredError,
    MintTokenWrongError,
)

_MINT = "v1.mint"

_BLANKS = " \t"


def register(app: Flask, core: Core) -> None:
    """Require a token for mints if one is set, and add that to GET /v1/info."""
    digests = core.settings.mint_token_digests
    core.info["minting"] = "token" if digests else "open"
    if not digests:
        return
    # Wrap only this view, so that OPTIONS and wrong methods need no token.
    mint = app.view_functions[_MINT]
    app.view_functions[_MINT] = _with_token(mint, digests, core.limits)
    app.register_error_handler(MintTokenError, _challenge_answer)


def _with_token(
    mint: Callable[..., Any], digests: Sequence[bytes], limits: ClientLimits
) -> Callable[..., Any]:
    @wraps(mint)
    def mint_with_token() -> Any:
        # Check before reading the body, and before a key could replay an earlier mint.
        _check_token(request, digests, limits)
        return mint()

    return mint_with_token


def _check_token(
    request: Request, digests: Sequence[bytes], limits: ClientLimits
) -> None:
    """Raise MintTokenError if the token is missing or wrong.

    Raises TooManyFailuresError for any token of a client over the limit: otherwise it
    would learn when it guesses right.
    """
    header = request.headers.get("Authorization", "")
    scheme, _, token = header.strip(_BLANKS).partition(" ")
    token = token.strip(_BLANKS)
    # Scheme names are case-insensitive (RFC 9110, 11.1).
    if scheme.lower() != "bearer" or not token:
        raise MintTokenRequiredError
    with limits.limit_guesses(client_of(request), 1):
        digest = sha256(token.encode()).digest()
        # Compare with all, so that the time does not reveal which one matches.
        matches = [compare_digest(digest, expected) for expected in digests]
        if not any(matches):
            raise MintTokenWrongError


def _challenge_answer(error: MintTokenError) -> Response:
    answer = problem_answer(error)
    # Required in a 401 response (RFC 9110, 15.5.2).
    answer.headers["WWW-Authenticate"] = error.challenge
    return answer


def examine(ledger: Ledger) -> Iterator[Finding]:
    """Yield a finding on who may mint."""
    count = len(ledger.settings.mint_token_digests)
    text = f"a mint needs one of {count} tokens"
    yield Finding("ok", "minting", text if count else "anybody may mint")


PART = Part("minting", register, errors=problems(errors), examine=examine)
