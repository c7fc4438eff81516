"""The client against the description of the service: routes, options, answers and errors."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import os
import re
import urllib.request
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

import holt
import pytest
from holt import models
from holt._async.audit import AsyncAudit
from holt._async.client import AsyncHolt
from holt._async.events import AsyncEvents
from holt._async.hosts import AsyncHosts
from holt._async.keys import AsyncKeys
from holt._async.policies import AsyncPolicies
from holt._async.projects import AsyncProjects
from holt._async.secrets import AsyncProviders, AsyncSecrets
from holt._async.snapshots import AsyncSnapshots
from holt._async.templates import AsyncTemplates
from holt._async.webhooks import AsyncWebhooks
from holt._bodies import code_body, command_body, fork_body, runtime_body
from holt._model import Model, wire_name
from holt._routes import routes
from holt.errors import ApiError, error_classes

FOR_OTHERS = {"openapi", "docs", "openIdConfiguration", "jsonWebKeys"}
"""The routes that are for browsers, for tools, and for those who verify tokens."""

BY_ANOTHER_NAME = {"Runtime": "RuntimeData", "Command": "CommandData", "Build": "BuildData", "Template": "TemplateData"}
"""The answers whose names are those of handles here."""

NO_MODEL = {
    "Fork",
    "FileRemoved",
    "AttachClientFrame",
    "PolicyPresets",
    "PortList",
    "OpenApi",
    "JsonWebKeySet",
    "OpenIdConfiguration",
}
"""The schemas that the client reads or writes without an object of their own."""

CALLS: dict[str, list[Any]] = {
    "createRuntime": [holt.AsyncRuntimes.create, runtime_body, holt.AsyncRuntimes.dry_run],
    "listRuntimes": [holt.AsyncRuntimes.list],
    "updateRuntime": [holt.AsyncRuntime.update],
    "forkRuntime": [holt.AsyncRuntime.fork, fork_body, holt.AsyncRuntime.dry_run_fork],
    "createSnapshot": [holt.AsyncRuntime.snapshot],
    "runtimeMetrics": [holt.AsyncRuntime.metrics],
    "listRuntimeMetrics": [holt.AsyncRuntimes.metrics],
    "readRuntimeEvents": [holt.AsyncRuntime.events],
    "startCommand": [holt.AsyncCommands.run, command_body],
    "listCommands": [holt.AsyncCommands.list],
    "readOutput": [holt.AsyncCommand.output],
    "sendSignal": [holt.AsyncCommand.send_signal],
    "resizeTerminal": [holt.AsyncCommand.resize],
    "attachCommand": [holt.AsyncCommand.attach],
    "listSessions": [holt.AsyncCommands.sessions],
    "createCodeContext": [holt.AsyncCodeContexts.create],
    "listCodeContexts": [holt.AsyncCodeContexts.list],
    "runCode": [holt.AsyncCode.run, code_body],
    "runCodeInContext": [holt.AsyncCode.run, code_body],
    "readCodeRun": [holt.AsyncCode.read],
    "copyFile": [holt.AsyncFiles.copy],
    "moveFile": [holt.AsyncFiles.move],
    "readFile": [holt.AsyncFiles.read],
    "writeFile": [holt.AsyncFiles.write],
    "statFile": [holt.AsyncFiles.stat],
    "listFiles": [holt.AsyncFiles.list],
    "makeDirectory": [holt.AsyncFiles.make_directory],
    "removeFile": [holt.AsyncFiles.remove],
    "makeSymlink": [holt.AsyncFiles.symlink],
    "changeMode": [holt.AsyncFiles.chmod],
    "changeOwner": [holt.AsyncFiles.chown],
    "searchFiles": [holt.AsyncFiles.search],
    "replaceInFiles": [holt.AsyncFiles.replace],
    "diffFiles": [holt.AsyncRuntime.diff],
    "readArchive": [holt.AsyncFiles.archive],
    "writeArchive": [holt.AsyncFiles.extract],
    "watchFiles": [holt.AsyncFiles.watch],
    "getPort": [holt.AsyncPorts.get],
    "updatePort": [holt.AsyncPorts.set_public],
    "setNetwork": [holt.AsyncNetwork.set],
    "testNetwork": [holt.AsyncNetwork.test],
    "readNetworkLog": [holt.AsyncNetwork.log],
    "listSnapshots": [AsyncSnapshots.list],
    "createPolicy": [AsyncPolicies.create],
    "listPolicies": [AsyncPolicies.list],
    "replacePolicy": [AsyncPolicies.replace],
    "createSecret": [AsyncSecrets.create],
    "listSecrets": [AsyncSecrets.list],
    "replaceSecret": [AsyncSecrets.replace],
    "createProvider": [AsyncProviders.create_static, AsyncProviders.create_oauth2, AsyncProviders.create_workload],
    "listProviders": [AsyncProviders.list],
    "replaceProvider": [AsyncProviders.replace_static, AsyncProviders.replace_oauth2, AsyncProviders.replace_workload],
    "createKey": [AsyncKeys.create],
    "listKeys": [AsyncKeys.list],
    "rotateKey": [AsyncKeys.rotate],
    "listEvents": [AsyncEvents.list, AsyncEvents.follow],
    "listHostEvents": [AsyncEvents.list, AsyncEvents.follow],
    "createWebhook": [AsyncWebhooks.create],
    "listWebhooks": [AsyncWebhooks.list],
    "updateWebhook": [AsyncWebhooks.update],
    "rotateWebhookSecret": [AsyncWebhooks.rotate_secret],
    "listDeliveries": [AsyncWebhooks.deliveries],
    "listAudit": [AsyncAudit.list],
    "createProject": [AsyncProjects.create],
    "listProjects": [AsyncProjects.list],
    "listHosts": [AsyncHosts.list],
    "drainHost": [AsyncHosts.drain],
    "loseHost": [AsyncHosts.lose],
    "createJoinToken": [AsyncHosts.create_join_token],
    "listJoinTokens": [AsyncHosts.list_join_tokens],
    "updateProject": [AsyncProjects.update],
    "listTemplates": [AsyncTemplates.list],
    "checkDockerfile": [AsyncTemplates.check],
    "listBuilds": [holt.AsyncBuilds.list],
    "readBuildLogs": [holt.AsyncBuild.logs],
    "pullTemplate": [holt.AsyncBuilds.pull],
    "whoami": [AsyncHolt.whoami],
    "metrics": [AsyncHolt.metrics],
}
"""The calls of each route that takes options."""

IN_OTHER_WORDS = {
    ("createRuntime", "dry_run"): "`dry_run` is a call of its own",
    ("forkRuntime", "dry_run"): "`dry_run_fork` is a call of its own",
    ("startCommand", "argv"): "a list as `command`",
    ("startCommand", "background"): "`start` is a call of its own",
    ("resizeTerminal", "cols"): "`size`",
    ("resizeTerminal", "rows"): "`size`",
    ("attachCommand", "client"): "the client makes it up, to attach again",
    ("attachCommand", "window"): "the client's own flow control",
    ("writeFile", "upload_id"): "the client makes it up, to continue after a break",
    ("writeFile", "offset"): "where the client continues after a break",
    ("writeFile", "partial"): "the client sends all that is left at once",
    ("readRuntimeEvents", "type"): "`types`",
    ("listEvents", "type"): "`types`",
    ("listEvents", "follow"): "`follow` is a call of its own",
    ("listHostEvents", "type"): "`types`",
    ("listHostEvents", "follow"): "`follow` is a call of its own",
    ("updatePort", "public"): "`is_public`",
    ("setNetwork", "network_policy"): "`policy`",
    ("createBuild", "dockerfile"): "`from_dockerfile`",
    ("createBuild", "target"): "an option of `from_dockerfile`",
    ("createBuild", "steps"): "`run`, `copy`, `env`, `workdir` and `user`",
    ("createBuild", "context_id"): "the builder sends the context",
    ("createBuild", "build_args"): "`build_arg`",
    ("createBuild", "build_secrets"): "`build_secret`",
    ("createBuild", "ready_timeout_secs"): "an option of `ready_cmd`",
    ("createBuild", "timeout_secs"): "`timeout`",
    ("createProvider", "type"): "a call for each type",
    ("replaceProvider", "type"): "a call for each type",
}
"""The fields that are no options of the same name, with the way to them."""


@pytest.fixture(scope="module")
def openapi() -> dict[str, Any]:
    """The description of the service under test."""
    with urllib.request.urlopen(f"{os.environ['HOLT_URL']}/openapi.json") as answer:
        return json.load(answer)


def test_every_route_of_the_service_is_known(openapi: dict[str, Any]) -> None:
    there = {
        name: (method, path, operation.get("security") != [])
        for name, method, path, operation in operations(openapi)
        if name not in ("openapi", "docs")
    }
    assert {name: tuple(route) for name, route in routes.items()} == there


def test_every_route_is_called(openapi: dict[str, Any]) -> None:
    sources = Path(holt.__file__).parent / "_async"
    words = {
        node.value
        for path in sources.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    uncalled = {name for name, *_ in operations(openapi)} - words - FOR_OTHERS
    assert uncalled == set()


def test_every_field_of_a_request_is_an_option(openapi: dict[str, Any]) -> None:
    missing = [
        f"{name}: {field}"
        for name, _, _, operation in operations(openapi)
        for field in request_fields(openapi, operation)
        if (name, field) not in IN_OTHER_WORDS and field not in options_of(name)
        # Lists are read page by page, and stdin by its own writer.
        and not (field == "cursor" and name.startswith("list"))
        and name not in ("writeStdin", "getUpload", "abortUpload")
    ]
    assert missing == []


def test_every_condition_is_an_option(openapi: dict[str, Any]) -> None:
    conditional = [
        name
        for name, _, _, operation in operations(openapi)
        if any(one["in"] == "header" and one["name"] == "If-Match" for one in operation["parameters"])
    ]
    assert len(conditional) > 5
    for name in conditional:
        for call in CALLS[name]:
            assert "if_match" in inspect.signature(call).parameters, (name, call)


def test_every_answer_has_its_fields(openapi: dict[str, Any]) -> None:
    schemas = openapi["components"]["schemas"]
    wrong: list[str] = []
    for name in sorted(answer_schemas(openapi)):
        if name in NO_MODEL or (name.endswith("Page") and name != "EventPage"):
            continue
        type_ = getattr(models, BY_ANOTHER_NAME.get(name, name), None)
        if type_ is None:
            wrong.append(f"{name} is missing")
        else:
            wrong.extend(differences(name, schemas[name], type_, schemas))
    assert wrong == []


def test_every_code_has_a_class(openapi: dict[str, Any]) -> None:
    hints = {code: answer["description"] for code, answer in openapi["components"]["responses"].items()}
    assert {code: one.default_hint for code, one in error_classes.items()} == hints
    for code, one in error_classes.items():
        assert one.__name__ == "".join(part.capitalize() for part in code.split("_"))
        assert issubclass(one, ApiError)


def test_every_class_has_its_status(openapi: dict[str, Any]) -> None:
    for name, _, _, operation in operations(openapi):
        for status, answer in operation["responses"].items():
            for code in codes_of(answer) if int(status) >= 400 else []:
                assert (name, code, error_classes[code].default_status) == (name, code, int(status))


def operations(openapi: dict[str, Any]) -> list[tuple[str, str, str, dict[str, Any]]]:
    return [
        (operation["operationId"], method.upper(), path, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    ]


def request_fields(openapi: dict[str, Any], operation: dict[str, Any]) -> set[str]:
    fields = {one["name"] for one in operation["parameters"] if one["in"] == "query"}
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content is not None:
        schema = resolved(content["schema"], openapi["components"]["schemas"])
        for one in schema.get("oneOf", [schema]):
            fields.update(one["properties"])
    return fields


def options_of(name: str) -> set[str]:
    if name == "createBuild":
        return set(dir(holt.AsyncTemplate))
    return {option for call in CALLS.get(name, []) for option in inspect.signature(call).parameters}


def answer_schemas(openapi: dict[str, Any]) -> set[str]:
    """Returns the names of the schemas that answers are made of."""
    found: set[str] = set()
    waiting: list[Any] = [
        answer
        for _, _, _, operation in operations(openapi)
        for status, answer in operation["responses"].items()
        if int(status) < 400
    ]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting.extend(cast("list[Any]", one))
        elif isinstance(one, dict):
            values = cast("dict[str, Any]", one)
            waiting.extend(values.values())
            reference: Any = values.get("$ref")
            name = reference.rpartition("/")[2] if isinstance(reference, str) else ""
            if name and name not in found:
                found.add(name)
                waiting.append(openapi["components"]["schemas"][name])
    return found


def differences(place: str, schema: Any, type_: Any, schemas: Any) -> list[str]:
    """Returns the places where a type cannot hold what the schema has, or lacks some of it."""
    schema = resolved(schema, schemas)
    variants = schema.get("anyOf") or schema.get("oneOf")
    if variants is not None:
        return variant_differences(place, variants, type_, schemas)
    if isinstance(schema.get("type"), list):
        return variant_differences(place, [{**schema, "type": one} for one in schema["type"]], type_, schemas)
    if is_union(type_) and ("properties" in schema or schema.get("type") in ("array", "object")):
        tries = [differences(place, schema, one, schemas) for one in get_args(type_)]
        return [] if not all(tries) else min(tries, key=len)
    if "properties" in schema:
        return object_differences(place, schema, type_, schemas)
    if schema.get("type") == "array":
        if get_origin(type_) is not list:
            return [f"{place} is no list"]
        return differences(f"{place}[]", schema["items"], get_args(type_)[0], schemas)
    if schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        if get_origin(type_) is not dict:
            return [f"{place} is no dict"]
        return differences(f"{place}{{}}", inner, get_args(type_)[1], schemas) if inner else []
    return [] if holds(schema, type_) else [f"{place} is {type_}"]


def variant_differences(place: str, variants: list[Any], type_: Any, schemas: Any) -> list[str]:
    return [one for variant in variants for one in differences(place, variant, type_, schemas)]


def object_differences(place: str, schema: Any, type_: Any, schemas: Any) -> list[str]:
    if not (inspect.isclass(type_) and issubclass(type_, Model)):
        return [f"{place} is no object"]
    hints = get_type_hints(type_)
    fields = {wire_name(field.name): field for field in dataclasses.fields(type_)}
    wrong = [f"{place}.{name} is missing" for name in schema["properties"] if name not in fields]
    wrong += [f"{place}.{name} is not on the wire" for name in fields if name not in schema["properties"]]
    for name, inner in schema["properties"].items():
        if name not in fields:
            continue
        field = fields[name]
        wrong += differences(f"{place}.{name}", inner, hints[field.name], schemas)
        is_optional = field.default is None
        if is_optional != (name not in schema.get("required", [])):
            wrong.append(f"{place}.{name} is {'not ' if is_optional else ''}absent at times")
    return wrong


def holds(schema: Any, type_: Any) -> bool:
    """Returns true if a type holds the scalars of a schema."""
    types = get_args(type_) if is_union(type_) else (type_,)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values is not None:
        literals = [value for one in types if get_origin(one) is Literal for value in get_args(one)]
        return set(values) <= set(literals) or str in types
    plain = {"string": str, "integer": int, "number": float, "boolean": bool, "null": type(None)}
    wanted = datetime if schema.get("format") == "date-time" else plain.get(schema.get("type"), Any)
    return wanted in types or Any in types


def is_union(type_: Any) -> bool:
    return get_origin(type_) is Union or type(type_).__name__ == "UnionType"


def resolved(schema: Any, schemas: Any) -> Any:
    reference = schema.get("$ref")
    return schema if reference is None else schemas[reference.rpartition("/")[2]]


def codes_of(answer: Any) -> list[str]:
    reference = answer.get("$ref")
    if reference is not None:
        return [reference.rpartition("/")[2]]
    return re.findall(r"`(\w+)`", answer["description"])
