"""How deeds are named in the terminal, and found by what is typed."""

import re
from contextlib import closing, suppress
from typing import Any

import click

from deeds_client.errors import DeedsError, InvalidInputError
from deeds_client.records import Store, item_of
from deeds_client.wallet import Wallet

_NAME_LENGTH_MAX = 60


def find(wallet: Wallet, text: str) -> str:
    """Return the id of the deed of this name, mark, beginning of one, or id."""
    if re.fullmatch("deed_[0-9a-z]{26}", text):
        return wallet.item(text).id
    key = _folded(text)
    titles = {each: title(wallet, each) for each in wallet.balance()}
    # The name of a stranger's deed is not preferred to a mark.
    exact, longer = [], []
    for each, whole in titles.items():
        name, mark = map(_folded, whole.rsplit(" ", 1))
        if name == key or mark.startswith(key):
            exact.append(each)
        elif name.startswith(key):
            longer.append(each)
    found = exact or longer
    if len(found) != 1 or not key:
        choices = (
            " or ".join(titles[each] for each in found) or "no deed in this wallet"
        )
        raise InvalidInputError(f"“{plain(text)}” means {choices}.")
    return found[0]


def title(wallet: Wallet, item_id: str) -> str:
    """Return for example "“Night Choir” 7kq2·m9xd".

    The mark tells deeds of one name apart.
    """
    name = ""
    with suppress(DeedsError):
        name = plain(wallet.item(item_id).name)[:_NAME_LENGTH_MAX]
    return f"“{name or '?'}” {item_id[5:9]}·{item_id[-4:]}"


def plain(value: Any) -> str:
    """Return a value in one line, which does not end quotation marks around it."""
    seen = (
        each if each.isprintable() and each not in "“”" else " " for each in str(value)
    )
    return " ".join("".join(seen).split())


def _folded(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold()) or name


def complete_name(
    context: click.Context, _parameter: Any, incomplete: str
) -> list[str]:
    """Return the names in the wallet that begin so, without what a shell would obey."""
    path, items = context.find_root().params["path"], []
    if path.exists():
        with suppress(DeedsError), closing(Store(path)) as store:
            items = list(map(item_of, store.all("items")))
    names = {re.sub(r"\W+", "-", item.name).strip("-") for item in items}
    return sorted(
        name for name in names if _folded(name).startswith(_folded(incomplete))
    )
