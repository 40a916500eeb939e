import itertools
import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from keyhole.serve import error_responses
from keyhole.serve.routes import ROUTES

ID = "01M8K1NFF5YQE8K8EK1E8ENAGP"
TEXTS = [
    "buttons",
    ID,
    "",
    "..",
    "%2e%2e%2fetc%2fpasswd",
    "a%00b",
    "\u202etxt",
    "x" * 2000,
    "'--",
    "%",
]
VALUES = [
    None, True, -1, 0, 1e308, 2**70, "", "\x00", "x" * 600, [], {}, [[]], {"": None},
    {"arm": "red"}, "/etc/passwd", "/tmp/mine.py:Policy", ["red", "red"], {"reward": 1},
]  # fmt: skip
BODIES = [
    b"",
    b"{",
    b"\xff",
    b"[" * 100_000,
    b'{"a":1}' * 2,
    b"NaN",
    b'{"count": 1e999}',
    b'"\\ud800"',
]


def answers(client, operation, method, path):
    """Yield the answers to an operation with odd values in each place by turns."""
    for text in TEXTS:
        yield client.request(method, path.format(study=text, id=text), json={})
    good = path.format(study="buttons", id=ID)
    for parameter in operation["parameters"]:
        for value in VALUES:
            text = str(value).replace("\x00", "%00")
            if parameter["in"] == "query":
                yield client.request(method, good, params={parameter["name"]: text})
            if parameter["in"] == "header":
                header = {parameter["name"]: text.encode()}
                yield client.request(method, good, headers=header, json={})
    if "requestBody" in operation:
        for body in BODIES:
            yield client.request(method, good, content=body)
        names = ["count", "context", "exclude", "metadata", "arms", "arm", "tellings", "reward"]
        names += ["name", "setting", "policy", "facts", "timeout", "id"]
        for value in VALUES:
            yield client.request(method, good, content=json.dumps(value))
        for name, value in itertools.product(names, VALUES):
            yield client.request(method, good, content=json.dumps({name: value}))


@pytest.fixture
def document(client):
    return client.check(200, "GET", "/v1/openapi.json")


@pytest.mark.slow
def test_no_value_makes_the_service_fail_or_tell_tales(client, document, tmp_path):
    count = 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for answer in answers(client, operation, method.upper(), path):
                count += 1
                assert answer.status_code < 500, (answer.request, answer.text)
                for secret in (str(tmp_path), "Traceback", "site-packages"):
                    assert secret not in answer.text
                if answer.status_code >= 400:
                    assert answer.json()["status"] == answer.status_code
    assert count > 1500


def test_the_guide_lists_every_type_of_problem():
    guide = Path(__file__).parents[2].joinpath("docs/in_production.md").read_text()
    listed = set()
    for status, names in re.findall(r"^\| (\d{3}) \| (.*) \|$", guide, re.MULTILINE):
        listed |= {(int(status), name) for name in re.findall(r"`([a-z-]+)`", names)}
    named = {(problem.status, problem.type) for problem in error_responses.PROBLEMS.values()}
    assert {(status, f"/problems/{name}") for status, name in listed} == named


def test_the_document_has_every_route_with_its_problems(document):
    routes = {(route.method.lower(), route.path) for route in ROUTES}
    operations = {(m, path) for path, by_method in document["paths"].items() for m in by_method}
    assert operations == routes
    ask = document["paths"]["/v1/studies/{study}/decisions"]["post"]
    assert {"201", "400", "401", "403", "404", "409", "413", "422", "503"} <= set(ask["responses"])
    assert "pending-decision" in ask["responses"]["409"]["description"]
    assert "Idempotency-Key" in [parameter["name"] for parameter in ask["parameters"]]
    retire = document["paths"]["/v1/studies/{study}/arms/retire"]["post"]
    assert "unknown-arm" in retire["responses"]["422"]["description"]


def test_the_schemas_are_json_schemas(document):
    assert document["openapi"] == "3.1.0"
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)
        for text in json.dumps(schema).split('"$ref": "')[1:]:
            name = text.partition('"')[0].removeprefix("#/components/schemas/")
            assert name in document["components"]["schemas"]
