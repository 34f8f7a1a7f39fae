"""How deeds are named in the terminal, and found by what is typed."""

import re
from contextlib import closing, suppress
from typing import Any

import click

from deeds_client.errors import DeedsError, InvalidInputError, plain
from deeds_client.store import Store
from deeds_client.values import Item
from deeds_client.wallet import Wallet

_NAME_LENGTH_MAX = 60
_NOT_HELD = "no deed in this wallet. Give its id (deed_…)"


def find(wallet: Wallet, text: str) -> str:
    """Return the id of the deed of this name, mark, beginning of one, or id."""
    if re.fullmatch("deed_[0-9a-z]{26}", text):
        return wallet.item(text).id
    key = _folded(text)
    # The name of a stranger's deed is not preferred to a mark.
    exact: dict[str, str] = {}
    longer: dict[str, str] = {}
    for item_id in wallet.balance():
        whole = title(wallet, item_id)
        name, mark = map(_folded, whole.rsplit(" ", 1))
        if name == key or mark.startswith(key):
            exact[item_id] = whole
        elif name.startswith(key):
            longer[item_id] = whole
    found = exact or longer
    if key and len(found) == 1:
        return next(iter(found))
    meant = " or ".join(found.values()) or _NOT_HELD
    raise InvalidInputError(f"“{plain(text)}” means {meant}.")


def title(wallet: Wallet, item_id: str) -> str:
    """Return for example "“Night Choir” 7kq2·m9xd".

    The mark tells deeds of one name apart.
    """
    name = ""
    with suppress(DeedsError):
        name = plain(wallet.item(item_id).name, _NAME_LENGTH_MAX)
    return f"“{name or '?'}” {item_id[5:9]}·{item_id[-4:]}"


def _folded(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold()) or name


def complete_name(
    context: click.Context, _parameter: Any, incomplete: str
) -> list[str]:
    """Return the names in the wallet that begin so, without what a shell would obey."""
    path = context.find_root().params["path"]
    names = set()
    if path.exists():
        with suppress(DeedsError), closing(Store(path)) as store:
            for item in store.all(Item):
                names.add(re.sub(r"\W+", "-", item.name).strip("-"))
    beginning = _folded(incomplete)
    return sorted(name for name in names if _folded(name).startswith(beginning))
