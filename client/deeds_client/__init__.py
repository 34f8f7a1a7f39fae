"""A client of a deed service: a library for programs and a wallet for the terminal."""

from deeds_client.errors import DeedsError, NoAnswerError, ProblemError, WalletError
from deeds_client.service import Deeds
from deeds_client.values import Output
from deeds_client.wallet import Wallet

__all__ = [
    "Deeds",
    "DeedsError",
    "NoAnswerError",
    "Output",
    "ProblemError",
    "Wallet",
    "WalletError",
]
