"""Builds the OpenAPI document from the schemas, the operations and the table of problems."""

from collections.abc import Mapping
from typing import Any

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin

from deeds.blueprints.openapi_fields import describe_fields
from deeds.blueprints.openapi_paths import operations
from deeds.version import INTERFACE_VERSION

_OPENAPI_VERSION = "3.1.0"

_DESCRIPTION = """\
Issues deeds: items divided into units. Units belong to whoever knows the secret they are bound to.

- **Mint** creates an item and binds its units to secrets.
- **Swap** replaces secrets by new ones: it hands over, splits, joins and trades.
- **Check** tells whether outputs are still unspent.
- **Item** reads the total and the metadata of an item.

Swap what you receive at once, to a secret that only you know.

Every error is a [problem](/problems) (RFC 9457) with a stable `code`. Any other path is answered
404 `not_found`, any other method 405 `method_not_allowed` with the header `Allow`.
"""

_TAGS = [
    {"name": "deeds", "description": "Mint, swap and check"},
    {"name": "registry", "description": "Read items and what this service is"},
]


def build_document(info: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document of a service that tells `info` at GET /v1/info."""
    plugin = MarshmallowPlugin()
    spec = APISpec(
        title="Deed Mint, Swap and Registry Service",
        version=INTERFACE_VERSION,
        openapi_version=_OPENAPI_VERSION,
        plugins=[plugin],
        info={
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        servers=[{"url": "/"}],
        tags=_TAGS,
        # Nobody logs in: whoever knows a secret owns what is bound to it.
        security=[],
    )
    describe_fields(plugin)
    for path, methods in operations(info).items():
        spec.path(path, operations=methods)
    return spec.to_dict()
