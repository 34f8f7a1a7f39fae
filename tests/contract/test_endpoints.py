"""deeds/blueprints/endpoints.py: no endpoint is only half there.

That each has an operation of the OpenAPI document is in test_openapi.py.
"""

import re

from deeds.blueprints.endpoints import ENDPOINTS, LIMIT_NAMES
from tests.support.databases import on_sqlite
from tests.support.sources import found_in, read_text, section, table_rows

INTERFACE = {path for path in ENDPOINTS if path.startswith("/v1/")}


@on_sqlite
def test_every_route_of_the_interface_is_listed_and_no_other(app):
    routes = {rule.rule for rule in app.url_map.iter_rules()}

    assert {route for route in routes if route.startswith("/v1/")} == INTERFACE
    assert ENDPOINTS.keys() <= routes


def test_each_endpoint_has_a_kind_of_its_own_which_the_document_lists():
    rows = table_rows(section("docs/operations/watching.md", "Metrics"))
    [labels] = [row[1] for row in rows if row[0] == "`deeds_operations_total`"]
    listed = re.match("`kind`: ([a-z_, ]+);", labels)[1].split(", ")

    assert listed == [ENDPOINTS[path].kind for path in ENDPOINTS if path in INTERFACE]
    assert {each.kind for each in ENDPOINTS.values()} == {*listed, ""}


def test_the_settings_page_lists_the_name_of_every_limit():
    page = " ".join(read_text("docs/settings.md").split())
    [listed] = re.findall(r"The names are ([^;]+);", page)

    assert re.findall("`([a-z]+)`", listed) == ["failures", *LIMIT_NAMES]


def test_the_contract_has_a_section_for_each_endpoint():
    headings = found_in("docs/contract.md", r"^### 4\.[0-9]+ `[A-Z]+ (.+)`$")

    assert set(headings) == {re.sub("<[^>]+>", "{id}", path) for path in INTERFACE}
