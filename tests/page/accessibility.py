"""Looks with axe-core for what keeps people out of a page."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

_axe = Axe()


def faults(page: Page) -> list[str]:
    """Return what axe-core finds, each with the elements that it is about."""
    violations = _axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{violation['id']}: {node['html']} {node['failureSummary']}"
        for violation in violations
        for node in violation["nodes"]
    ]
