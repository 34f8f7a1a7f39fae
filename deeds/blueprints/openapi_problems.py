"""What the OpenAPI document says of problems: all of it from the table of problems."""

from http import HTTPStatus

from deeds.blueprints.openapi_parts import NO_STORE_HEADER, RETRY_AFTER_HEADER, Parts
from deeds.blueprints.problem_table import PROBLEMS, Problem
from deeds.blueprints.problems import MEDIA_TYPE
from schemas.problem import ProblemSchema

# What the server and the app may answer to a request of any kind.
EVERYWHERE = ("bad_request", "uri_too_long", "expectation_failed", "headers_too_large", "internal")

# What reading a body may come to.
OF_BODIES = (
    "body_unreadable",
    "wrong_media_type",
    "invalid_json",
    "invalid_request",
    "body_too_large",
)

# What reading the ledger may come to, and hashing secrets to look them up in it.
OF_READS = ("overloaded", "ledger_unavailable", "too_many_requests")
OF_SECRETS = (*OF_READS, "scheme_unavailable", "too_many_failures")

_RETRIED = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


def problem_responses(*codes: str) -> Parts:
    """Return the responses of an operation that answers these problems, one for each status."""
    problems = [PROBLEMS[code] for code in codes]
    statuses = sorted({problem.status for problem in problems})
    return {
        str(int(status)): _response([each for each in problems if each.status == status])
        for status in statuses
    }


def _response(problems: list[Problem]) -> Parts:
    headers = {"Cache-Control": NO_STORE_HEADER}
    if problems[0].status in _RETRIED:
        headers["Retry-After"] = RETRY_AFTER_HEADER
    return {
        "description": "\n".join(f"- `{each.code}`: {each.meaning}" for each in problems),
        "headers": headers,
        "content": {
            MEDIA_TYPE: {
                "schema": _schema(problems),
                "examples": {
                    each.code: {"summary": each.title, "value": _example(each)} for each in problems
                },
            }
        },
    }


def _schema(problems: list[Problem]) -> Parts:
    return {
        "allOf": [ProblemSchema],
        "properties": {
            "status": {"const": int(problems[0].status)},
            "code": {"enum": [each.code for each in problems]},
        },
    }


def _example(problem: Problem) -> Parts:
    example = {
        "type": problem.type,
        "title": problem.title,
        "status": int(problem.status),
        "detail": problem.meaning,
        "code": problem.code,
    }
    # The meaning speaks of the index wherever the answer always has one.
    return example | ({"index": 0} if "index" in problem.meaning else {})
