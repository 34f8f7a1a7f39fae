"""The page's encrypted file: replaced in a moment."""

from deeds_client.records import Record


def export_wallet(records: dict[str, list[Record]], passphrase: str) -> str:
    """Return the text of a file that holds the records."""
    raise NotImplementedError(records, passphrase)


def import_wallet(text: str, passphrase: str) -> dict[str, list[Record]]:
    """Return the records of a file."""
    raise NotImplementedError(text, passphrase)
