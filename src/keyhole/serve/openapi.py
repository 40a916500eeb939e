"""The OpenAPI document of the service, written from the table of routes."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from keyhole.serve.bodies import JsonObject
from keyhole.serve.problems import PROBLEMS, ProblemDocument
from keyhole.serve.routes import ROUTES, Route, ask, ask_many

_COMPONENTS: Final = "#/components/schemas/{name}"
_PROBLEM: Final = "#/components/responses/problem"


def make_openapi(version: str) -> JsonObject:
    """Return the document: OpenAPI 3.1."""
    routes = [route for route in ROUTES if not route.is_page]
    types = {t for r in routes for t in (r.response, r.request, r.query) if t is not None}
    types.add(ProblemDocument)
    schemas, components = msgspec.json.schema_components(types, ref_template=_COMPONENTS)
    schema_by_type = dict(zip(types, schemas, strict=True))
    paths: defaultdict[str, JsonObject] = defaultdict(dict)
    for route in routes:
        paths[route.path][route.method.lower()] = _describe_route(route, schema_by_type)
    problem_content = {"schema": schema_by_type[ProblemDocument]}
    problem_response = {
        "description": _list_problems(),
        "content": {"application/problem+json": problem_content},
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Keyhole", "version": version},
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {"problem": problem_response},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _list_problems() -> str:
    """Return the statuses of requests that fail, each with the names of its problems."""
    names_by_status: defaultdict[int, set[str]] = defaultdict(set)
    for problem in PROBLEMS.values():
        names_by_status[problem.status].add(problem.name)
    return "; ".join(
        f"{status}: {', '.join(sorted(names))}" for status, names in sorted(names_by_status.items())
    )


def _describe_route(route: Route, schemas: dict[type, JsonObject]) -> JsonObject:
    """Return the operation of a route."""
    response: JsonObject = {"description": "done"}
    operation: JsonObject = {
        "operationId": route.name,
        "summary": route.handler.__doc__,
        "parameters": list(_parameters(route)),
        "responses": {str(route.status): response, "default": {"$ref": _PROBLEM}},
    }
    if route.response is not None:
        response["content"] = {route.media_type: {"schema": schemas[route.response]}}
    if route.request is not None:
        content = {"application/json": {"schema": schemas[route.request]}}
        operation["requestBody"] = {"content": content, "required": route.handler is not ask}
    if route.right is not None:
        operation["security"] = [{"key": []}, {}]
        operation["description"] = f"The key needs the right `{route.right}`."
    return operation


def _parameters(route: Route) -> Iterable[JsonObject]:
    """Yield the parameters in the path and the query, and the idempotency key if one is taken."""
    for name in re.findall(r"{(\w+)}", route.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    if route.handler in (ask, ask_many):
        schema = {"type": "string", "maxLength": 500}
        yield {"name": "Idempotency-Key", "in": "header", "schema": schema}
    if route.query is not None:
        _, components = msgspec.json.schema_components([route.query])
        for name, schema in components[route.query.__name__]["properties"].items():
            yield {"name": name, "in": "query", "schema": schema}
