"""The OpenAPI document of the service, written from the routes of its API."""

from collections.abc import Iterable
from itertools import groupby
from typing import Final

import msgspec
from starlette.routing import compile_path

from keyhole.serve import error_responses as problems
from keyhole.serve.bodies import JsonObject
from keyhole.serve.routes import ROUTES, Route, ask, ask_many
from keyhole.study import DamagedError, StoreError, UnknownStudyError

_COMPONENTS: Final = "#/components/schemas/{name}"


def make_openapi(version: str) -> JsonObject:
    """Return the document, in OpenAPI 3.1."""
    types = {t for r in ROUTES for t in (r.response_type, r.body_type, r.query_type) if t}
    types.add(problems.ProblemDocument)
    schemas, components = msgspec.json.schema_components(types, ref_template=_COMPONENTS)
    schema_by_type = dict(zip(types, schemas, strict=True))
    paths: JsonObject = {route.path: {} for route in ROUTES}
    for route in ROUTES:
        paths[route.path][route.method.lower()] = _describe_route(route, schema_by_type)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Keyhole", "version": version},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe_route(route: Route, schemas: dict[type, JsonObject]) -> JsonObject:
    """Return the OpenAPI operation of a route."""
    response: JsonObject = {"description": "done"}
    operation: JsonObject = {
        "operationId": route.handler.__name__,
        "summary": route.handler.__doc__,
        "parameters": list(_list_parameters(route)),
        "responses": {str(route.status): response} | _describe_problems(route, schemas),
    }
    if route.response_type is not None:
        response["content"] = {route.media_type: {"schema": schemas[route.response_type]}}
    if route.body_type is not None:
        content = {"application/json": {"schema": schemas[route.body_type]}}
        operation["requestBody"] = {"content": content, "required": route.handler is not ask}
    if route.required_right is not None:
        operation["security"] = [{"key": []}, {}]  # a key, or none while the database has no keys
        operation["description"] = f"The key needs the right `{route.required_right}`."
    return operation


def _list_parameters(route: Route) -> Iterable[JsonObject]:
    """Yield the parameters in a route's path, headers and query."""
    for name in compile_path(route.path)[2]:
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    if route.handler in (ask, ask_many):
        schema = {"type": "string", "maxLength": 500}
        yield {"name": "Idempotency-Key", "in": "header", "schema": schema}
    if route.query_type is not None:
        _, components = msgspec.json.schema_components([route.query_type])
        for name, schema in components[route.query_type.__name__]["properties"].items():
            yield {"name": name, "in": "query", "schema": schema}


def _describe_problems(route: Route, schemas: dict[type, JsonObject]) -> JsonObject:
    """Return the answers to failed requests by status; each lists the names of its problems."""
    errors: list[type[Exception]] = [*route.problems, DamagedError, StoreError]
    if route.required_right is not None:
        errors += [problems.MissingKeyError, problems.InvalidKeyError, problems.MissingRightError]
    if route.is_about_study:
        errors.append(UnknownStudyError)
    if route.body_type is not None:
        errors += [problems.LargeBodyError, msgspec.DecodeError]
    if route.body_type is not None or route.query_type is not None:
        errors.append(ValueError)
    types = map(problems.PROBLEMS.__getitem__, errors)
    pairs = sorted({(problem.status, problem.type.rpartition("/")[2]) for problem in types})
    content = {"application/problem+json": {"schema": schemas[problems.ProblemDocument]}}
    return {
        str(status): {"description": ", ".join(name for _, name in group), "content": content}
        for status, group in groupby(pairs, lambda pair: pair[0])
    }
