"""A client of a deed service: a library for programs and a wallet for the terminal."""

from deeds_client.errors import (
    DeedsError,
    InvalidInputError,
    NoAnswerError,
    ProblemError,
    WalletError,
    WalletFileError,
    WrongServiceError,
)
from deeds_client.service import Deeds
from deeds_client.values import Info, Item, NewOutput, Offer, Output, Units
from deeds_client.wallet import Wallet

__all__ = [
    "Deeds",
    "DeedsError",
    "Info",
    "InvalidInputError",
    "Item",
    "NewOutput",
    "NoAnswerError",
    "Offer",
    "Output",
    "ProblemError",
    "Units",
    "Wallet",
    "WalletError",
    "WalletFileError",
    "WrongServiceError",
]
