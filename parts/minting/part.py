"""What asks for a token before a mint, where the settings name one (contract 4.1).

Everything else stays open: swaps, checks, offers and reads need no token.
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
    """Have mints ask for a token, if there is one, and say so in GET /v1/info."""
    digests = core.settings.mint_token_digests
    core.info["minting"] = "token" if digests else "open"
    if not digests:
        return
    # Around the view alone: no other request, and no OPTIONS or 405, comes by here.
    mint = app.view_functions[_MINT]
    app.view_functions[_MINT] = _with_token(mint, digests, core.limits)
    app.register_error_handler(MintTokenError, _challenge_answer)


def _with_token(
    mint: Callable[..., Any], digests: Sequence[bytes], limits: ClientLimits
) -> Callable[..., Any]:
    @wraps(mint)
    def mint_with_token() -> Any:
        # Before the body is read, and before a key could replay an earlier mint.
        _check_token(request, digests, limits)
        return mint()

    return mint_with_token


def _check_token(
    request: Request, digests: Sequence[bytes], limits: ClientLimits
) -> None:
    """Raise MintTokenError, or TooManyFailuresError before a token is looked at.

    A client that has guessed too often learns nothing of a right token either, or it
    could go on guessing.
    """
    header = request.headers.get("Authorization", "")
    scheme, _, token = header.strip(_BLANKS).partition(" ")
    token = token.strip(_BLANKS)
    # Names of schemes have no case (RFC 9110, 11.1).
    if scheme.lower() != "bearer" or not token:
        raise MintTokenRequiredError
    with limits.judging(client_of(request), 1):
        digest = sha256(token.encode()).digest()
        # With all, so that the time does not tell which one it is.
        matches = [compare_digest(digest, each) for each in digests]
        if True not in matches:
            raise MintTokenWrongError


def _challenge_answer(error: MintTokenError) -> Response:
    answer = problem_answer(error)
    # Each 401 needs it (RFC 9110, 15.5.2).
    answer.headers["WWW-Authenticate"] = error.challenge
    return answer


def examine(ledger: Ledger) -> Iterator[Finding]:
    """Yield who may mint."""
    count = len(ledger.settings.mint_token_digests)
    text = f"a mint needs one of the tokens that are set, {count}"
    yield Finding("ok", "minting", text if count else "anybody may mint")


PART = Part("minting", register, errors=problems(errors), examine=examine)
