"""A client of a Deeds service: a library for programs and a wallet for the terminal.

See `help(deeds_client.Wallet)` and `help(deeds_client.Deeds)`. The logger
`deeds_client` logs retries and resumed operations, never a secret.
"""

from deeds_client.errors import (
    CallError,
    DeedsError,
    FindingError,
    InvalidInputError,
    NoAnswerError,
    ProblemError,
    WalletError,
    WalletFileError,
)
from deeds_client.links import Sent, claim_link, offer_link, read_claims, read_offer
from deeds_client.records import Holding, Operation
from deeds_client.service import Deeds
from deeds_client.values import (
    CheckState,
    Found,
    Info,
    Item,
    Kind,
    Offer,
    OfferState,
    OperationState,
    Output,
    OutputState,
    Secret,
    Units,
)
from deeds_client.version import __version__
from deeds_client.wallet import Wallet

__all__ = [
    "CallError",
    "CheckState",
    "Deeds",
    "DeedsError",
    "FindingError",
    "Found",
    "Holding",
    "Info",
    "InvalidInputError",
    "Item",
    "Kind",
    "NoAnswerError",
    "Offer",
    "OfferState",
    "Operation",
    "OperationState",
    "Output",
    "OutputState",
    "ProblemError",
    "Secret",
    "Sent",
    "Units",
    "Wallet",
    "WalletError",
    "WalletFileError",
    "__version__",
    "claim_link",
    "offer_link",
    "read_claims",
    "read_offer",
]
