"""Deeds to look at."""

import base64
import json
import urllib.request
from typing import Any
from uuid import uuid4

PICTURE = (
    b'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="420" viewBox="0 0 640 420">'
    b'<rect width="640" height="420" fill="#8fbcd8"/>'
    b'<circle cx="500" cy="95" r="46" fill="#ffe6a3"/>'
    b'<path d="M0 330q160-70 320-20t320-30v140H0z" fill="#5f9e6e"/>'
    b'<path d="M190 190l130-90 130 90v150H190z" fill="#a5673f"/>'
    b'<path d="M165 208l155-118 155 118-16 20L320 124 181 228z" fill="#6d3f24"/>'
    b'<rect x="285" y="240" width="70" height="100" fill="#5a3320"/>'
    b'<rect x="215" y="230" width="46" height="42" fill="#dceaf2"/>'
    b'<rect x="380" y="230" width="46" height="42" fill="#dceaf2"/></svg>'
)
PICTURE_URI = f"data:image/svg+xml;base64,{base64.b64encode(PICTURE).decode()}"

SHED = {
    "name": "A share in the garden shed",
    "description": "One of a hundred. Whoever holds ten has a key to the door "
    "and may keep a bicycle in it over the winter.",
    "image": PICTURE_URI,
}


def post(url: str, body: Any) -> Any:
    """Send JSON and return the JSON that is answered."""
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def mint_deed(origin: str, metadata: dict[str, str] | None, *outputs: str) -> str:
    """Mint an item at a running service and return its id."""
    body = {"outputs": list(outputs) or ["+100.a"], "metadata": metadata}
    return str(post(f"{origin}/v1/mint", body)["itemId"])


def mint_outputs(origin: str, *secrets: str, metadata: dict[str, str] | None = SHED) -> list[str]:
    """Mint five units for each secret; return the raw outputs."""
    item_id = mint_deed(origin, metadata, *(f"+5.{secret}" for secret in secrets))
    return [f"+5.{item_id}.{secret}" for secret in secrets]


def spend(origin: str, raw: str) -> None:
    """Spend an output as somebody who has a copy of its secret."""
    made = f"{raw.rpartition('.')[0]}.{uuid4().hex}"
    assert post(f"{origin}/v1/swap", {"inputs": [raw], "outputs": [made]}) == {"success": True}


def check(origin: str, raws: list[str]) -> list[str]:
    """Return what the service says of outputs."""
    states: list[str] = post(f"{origin}/v1/check", {"outputs": raws})["states"]
    return states
