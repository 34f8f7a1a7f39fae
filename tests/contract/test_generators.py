"""Clients that generators make of GET /openapi.json trade with the running service."""

import json
import shutil
import sys
from functools import partial

import pytest

from tests.support.commanding import printed_by
from tests.support.needs import NODE_MODULES, TYPESCRIPT, require
from tests.support.strong_secrets import make_strong_secret

MAKE = [sys.executable, "-m", "openapi_python_client", "generate", "--fail-on-warning"]
MAKE += ["--meta", "none", "--output-path", "made_client", "--config", "config.yaml"]
TSC = ["--strict", "--noEmit", "--checkJs", "--target", "es2023"]
TSC += ["--module", "esnext", "--moduleResolution", "bundler"]
RUN = """import { trade } from "./typed_client.mjs";
console.log(JSON.stringify(await trade(...process.argv.slice(1))));"""

pytestmark = pytest.mark.slow


@pytest.fixture
def service(gunicorn_service, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return gunicorn_service()


@pytest.fixture
def printed(tmp_path):
    """A function that runs a program in the test's own directory."""
    return partial(printed_by, cwd=tmp_path)


def assert_traded(service, spent, unspent, code, detail):
    """Assert that both halves changed hands, and that a swap cannot be repeated."""
    with service.open_api() as api:
        states = api.check(*spent, *unspent)
    assert states == ["spent"] * 3 + ["unspent"] * 2
    assert code == "spent_input"
    assert detail.startswith("inputs[0]: The input was spent before.")


def test_a_client_made_by_openapi_python_client_trades(
    service, printed, monkeypatch, tmp_path
):
    (tmp_path / "config.yaml").write_text("post_hooks: []")
    printed(*MAKE, "--url", f"{service.url}/openapi.json")
    monkeypatch.syspath_prepend(tmp_path)
    from made_client import Client, models
    from made_client.api.deeds import mint, swap
    from made_client.api.offers import complete_offer, make_offer

    with Client(service.url) as client:
        minted = mint.sync(client=client, body=models.MintRequest(["+5.one"]))
        outputs = [models.NewOutput(2, "two")]
        paid = mint.sync(client=client, body=models.MintRequest(outputs))
        given, taken = [[f"+5.{minted.item_id}.{secret}"] for secret in ("a", "b")]
        wanted = [f"+2.{paid.item_id}.{make_strong_secret()}"]
        moved = models.SwapRequest(minted.raw_outputs, given)
        swap.sync(client=client, body=moved)
        half = models.OfferRequest(given, wanted)
        offer = make_offer.sync(client=client, body=half)
        rest = models.CompletionRequest(paid.raw_outputs, taken)
        complete_offer.sync(offer.offer_id, client=client, body=rest)
        refused = swap.sync(client=client, body=moved)

    assert_traded(
        service,
        minted.raw_outputs + given + paid.raw_outputs,
        wanted + taken,
        models.ProblemCode(refused.code),
        refused.detail,
    )


def test_a_client_typed_by_openapi_typescript_trades(service, printed, tmp_path):
    require(TYPESCRIPT)
    (tmp_path / "node_modules").symlink_to(NODE_MODULES)
    shutil.copy(NODE_MODULES.parent / "typed_client.js", tmp_path / "typed_client.mjs")
    tools, document = NODE_MODULES / ".bin", f"{service.url}/openapi.json"
    printed(tools / "openapi-typescript", document, "-o", "schema.d.ts")
    printed(tools / "tsc", *TSC, "typed_client.mjs")

    strong = make_strong_secret()
    told = printed("node", "--input-type=module", "--eval", RUN, service.url, strong)

    assert_traded(service, *json.loads(told))
