"""Bodies of requests, checked. Fields that are not known are passed over."""

import json
import re
from typing import Any

from aiohttp import web

from .errors import Refused
from .run import Request

_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_CONTEXT_ID = re.compile(r"(?!default-)[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_MAX_TIMEOUT_SECS = 7 * 24 * 3600


async def read_body(request: web.Request) -> dict[str, Any]:
    """Returns the JSON object of a request. An absent body is an empty one."""
    text = await request.read()
    if not text:
        return {}
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise _invalid("The body is not JSON.") from None
    if not isinstance(body, dict):
        raise _invalid("The body is not a JSON object.")
    return body


def text_of(body: dict[str, Any], name: str) -> str | None:
    """Returns an optional text. Null counts as absent."""
    value = body.get(name)
    if value is not None and (not isinstance(value, str) or "\0" in value):
        raise _invalid(f"{name}: a text is expected.")
    return value


def code_of(body: dict[str, Any]) -> str:
    code = body.get("code")
    if not isinstance(code, str):
        raise _invalid("code: a text is required.")
    try:
        code.encode()
    except UnicodeEncodeError:
        raise _invalid("code: it has half of a surrogate pair.") from None
    return code


def env_of(body: dict[str, Any], name: str) -> dict[str, str]:
    env = body.get(name) or {}
    if not isinstance(env, dict) or not all(_is_variable(key, value) for key, value in env.items()):
        raise _invalid(f"{name}: an object of variables is expected, with texts as values.")
    try:
        "".join(env.values()).encode()
    except UnicodeEncodeError:
        raise _invalid(f"{name}: a value has half of a surrogate pair.") from None
    return env


def request_of(body: dict[str, Any]) -> Request:
    """Returns the request of `POST /v1/runs`."""
    timeout = body.get("timeout_secs")
    if timeout is not None and (
        isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout <= _MAX_TIMEOUT_SECS
    ):
        raise _invalid(f"timeout_secs: a number above 0 and up to {_MAX_TIMEOUT_SECS} is expected.")
    return Request(code_of(body), timeout, env_of(body, "env"))


def run_id_of(body: dict[str, Any]) -> str | None:
    run_id = text_of(body, "run_id")
    if run_id is not None and not _RUN_ID.fullmatch(run_id):
        raise _invalid("run_id: 1 to 64 letters, digits, - and _ are expected.")
    return run_id


def new_context_id_of(body: dict[str, Any]) -> str | None:
    """Returns the id for a context to create. Ids of default contexts are names of their own."""
    context_id = text_of(body, "context_id")
    if context_id is not None and not _CONTEXT_ID.fullmatch(context_id):
        raise _invalid("context_id: 1 to 64 letters, digits, -, _ and . are expected, and no `default-`.")
    return context_id


def cursor_of(request: web.Request) -> int:
    """Returns the cursor of the last line that a reader has, or -1."""
    text = request.query.get("cursor", "-1")
    if not re.fullmatch(r"-1|[0-9]{1,15}", text):
        raise _invalid("cursor: the cursor of a line is expected.")
    return int(text)


def _is_variable(name: object, value: object) -> bool:
    if not (isinstance(name, str) and isinstance(value, str)):
        return False
    return _VARIABLE.fullmatch(name) is not None and "\0" not in value


def _invalid(message: str) -> Refused:
    return Refused(400, "invalid_request", message)
