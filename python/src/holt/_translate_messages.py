"""The words of the service's errors, in terms of this client."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

_older_service = "Check url, and that the service is not older than this client."

_ours: list[tuple[str, str]] = [
    (
        r"^Send a valid key as Authorization: Bearer KEY\.$",
        "Pass api_key, or set HOLT_API_KEY, to a key of that service.",
    ),
    (r"^Correct the fields named in details\.issues and send the request again\.$", "Correct what the message names."),
    (r"^Resume the runtime: POST \S+\.", "Resume the runtime: runtime.resume()."),
    (r"GET \S+/ports/\S+ waits for it\.$", "runtime.ports.get(port, wait_secs=30) waits for it."),
    (r"holt port RUNTIME (\S+), or GET \S+ with an API key\.$", r"runtime.ports.url(\1)."),
    (r"^Read the command by its id: GET \S+\.$", "Read the command by its id: runtime.commands.get(command_id)."),
    (r"^Read the run by its id: GET \S+\.$", "Read the run by its id: runtime.code.read(run_id)."),
    (
        r"POST /v1/agents/key with the project (\S+) and the scope admin makes one\.$",
        r'holt.keys.create(name=..., project="\1", scopes=["admin"]) makes one.',
    ),
    (r"\bIdempotency-Key\b", "idempotency_key"),
    (r"\bthe seconds in Retry-After\b", "the retry_after_secs of this error"),
    (r"\bthe request_id\b", "the request_id of this error"),
    (r"^Use a method named in the Allow header\.$", _older_service),
    (r"^See /docs or /openapi\.json for every route\.$", _older_service),
    (r"^Send application/json, or bytes where the route takes a file\.$", _older_service),
    (r"^Send one Host header, .*$", "Check url, and what a proxy on the way does to requests."),
    (
        r"^Open this route as a WebSocket \(RFC 6455\)\.$",
        "Open it with command.attach(), or a port with runtime.ports.websocket_url(port).",
    ),
]
"""Terms of requests in the service's hints, and their counterparts in a program of this client."""

_calls: list[tuple[str, str]] = [
    ("GET /v1/agents/snapshot?kind=filesystem", 'holt.snapshots.list(kind="filesystem")'),
    ("GET /v1/agents/template/build", "holt.builds.list()"),
    ("POST /v1/agents/template/build", "holt.builds.create()"),
    ("POST /v1/agents/template/context", "holt.builds.upload_context()"),
    ("GET /v1/agents/identity-provider", "holt.secrets.providers.list()"),
    ("GET /v1/agents/network-policy", "holt.policies.list()"),
    ("GET /v1/agents/runtime", "holt.runtimes.list()"),
    ("GET /v1/agents/template", "holt.templates.list()"),
    ("GET /v1/agents/snapshot", "holt.snapshots.list()"),
    ("GET /v1/agents/secret", "holt.secrets.list()"),
    ("GET /v1/agents/key", "holt.keys.list()"),
    ("GET /v1/agents/webhook", "holt.webhooks.list()"),
    ("GET /v1/agents/project", "holt.projects.list()"),
    ("GET /v1/agents/join-token", "holt.hosts.list_join_tokens()"),
    ("GET /v1/agents/host", "holt.hosts.list()"),
    ("POST /v1/agents/project", "holt.projects.create()"),
]
"""The requests that hints name, and their calls. An address stands before its own prefixes."""

_longest_value = 80
_confidential = re.compile(r"secret|token|password|credential|auth|\b(?:value|env|data|headers|key)\b", re.I)
"""The fields whose values are never repeated in a message."""


def translate_hint(hint: str) -> str:
    """Returns a hint of the service with calls and options of this client in place of requests."""
    for theirs, ours in _ours:
        hint = re.sub(theirs, ours, hint)
    for request, call in _calls:
        hint = hint.replace(request, call)
    return hint


def translate_message(message: str, details: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    """Returns a message that names wrong fields as options, with their values.

    `sent` has the parts of the request to which fields point: `params`, `query` and `json`.
    """
    for issue in _issues_of(details):
        pointer, why = issue
        named = f"{_option_of(pointer)} {why}{_value_text(pointer, why, sent)}"
        message = message.replace(f"{pointer or 'the body'} {why}", named, 1)
    return message


def _issues_of(details: Mapping[str, Any]) -> list[tuple[str, str]]:
    issues: object = details.get("issues")
    if not isinstance(issues, list):
        return []
    found = [cast("Mapping[str, Any]", one) for one in cast("list[Any]", issues) if isinstance(one, dict)]
    return [(str(one.get("pointer", "")), str(one.get("message", ""))) for one in found]


def _option_of(pointer: str) -> str:
    """Returns the option of a field: `policy.allow[0].host` for `/policy/allow/0/host`."""
    parts = _parts_of(pointer)
    if len(parts) > 1 and parts[0] in ("query", "path"):
        parts = parts[1:]
    text = ""
    for part in parts:
        text = f"{text}[{part}]" if part.isdigit() else f"{text}.{part}" if text else part
    return text or "the request"


def _value_text(pointer: str, why: str, sent: Mapping[str, Any]) -> str:
    if _confidential.search(pointer) or why == "is not a known field":
        return ""
    parts = _parts_of(pointer)
    places = {"query": "query", "path": "params"}
    place = places.get(parts[0]) if len(parts) > 1 else None
    value: Any = sent.get(place or "json")
    for part in parts if place is None else parts[1:]:
        value = _inside(value, part)
    if not isinstance(value, (str, int, float, bool)):
        return ""
    text = value if isinstance(value, str) else json.dumps(value)
    if text and text in why:
        return ""
    short = text if len(text) <= _longest_value else f"{text[:_longest_value]}…"
    return f", got {short!r}" if isinstance(value, str) else f", got {short}"


def _inside(value: Any, part: str) -> Any:
    if isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value).get(part)
    if isinstance(value, Sequence) and not isinstance(value, str) and part.isdigit():
        items = cast("Sequence[Any]", value)
        return items[int(part)] if int(part) < len(items) else None
    return None


def _parts_of(pointer: str) -> list[str]:
    """Returns the parts of a JSON pointer (RFC 6901)."""
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
