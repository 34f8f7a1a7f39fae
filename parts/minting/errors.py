"""The errors of the mint token, one class each."""

from typing import ClassVar

from deeds.errors import DeedError


class MintTokenError(DeedError):
    """Base of both errors. `challenge` is for WWW-Authenticate (RFC 6750, 3)."""

    status = 401
    challenge: ClassVar[str]


class MintTokenRequiredError(MintTokenError):
    code = "mint_token_required"
    title = "Mint token required"
    meaning = "To mint here, send the operator's token: Authorization: Bearer <token>."
    challenge = "Bearer"


class MintTokenWrongError(MintTokenError):
    code = "mint_token_wrong"
    title = "Wrong mint token"
    meaning = "The token is not one of this service, or not any more."
    challenge = 'Bearer error="invalid_token"'

    def __init__(self) -> None:
        super().__init__(wrong_secrets=1)
