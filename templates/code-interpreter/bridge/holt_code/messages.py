"""
Lines from the messages that a kernel publishes.

The code in a kernel can publish any message, so nothing in one is trusted. The source is "Messaging
in Jupyter" (jupyter-client.readthedocs.io/en/stable/messaging.html), section "Messages on the IOPub
channel".
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from .limits import MAX_ERROR_CHARS, MAX_FORMS, MAX_FRAMES, MAX_NAME_CHARS, MAX_TEXT_CHARS
from .lines import Line

_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_JSON_TYPE = re.compile(r".*[/+]json(;|$)")


def translate(msg_type: object, content: object) -> list[Line]:
    """Returns the lines of a published message. A malformed or unknown message has none."""
    reader = _READERS.get(msg_type) if isinstance(msg_type, str) else None
    if reader is None or not isinstance(content, dict):
        return []
    return list(reader(content))


def page_of(reply: dict[str, Any]) -> list[Line]:
    """Returns the displays of a reply's payload, such as the help that `len?` shows."""
    payload = reply.get("payload")
    pages = [item for item in payload if isinstance(item, dict)] if isinstance(payload, list) else []
    return [
        _display("display", item) | {"main": False}
        for item in pages
        if item.get("source") == "page" and isinstance(item.get("data"), dict)
    ]


def stream_lines(name: str, text: str) -> Iterator[Line]:
    """Yields a text as lines of bounded length."""
    for at in range(0, len(text), MAX_TEXT_CHARS):
        yield {"type": name, "text": text[at : at + MAX_TEXT_CHARS]}


def error_line(name: str, value: str, traceback: list[str] | None = None) -> Line:
    return {"type": "error", "name": name, "value": value, "traceback": traceback or []}


def _stream(content: dict[str, Any]) -> Iterator[Line]:
    name, text = content.get("name"), content.get("text")
    if name in ("stdout", "stderr") and isinstance(text, str):
        yield from stream_lines(name, text)


def _display_data(content: dict[str, Any]) -> Iterator[Line]:
    yield _display("display", content) | {"main": False}


def _execute_result(content: dict[str, Any]) -> Iterator[Line]:
    yield _display("result", content) | {"main": True}


def _update_display(content: dict[str, Any]) -> Iterator[Line]:
    yield _display("update_display", content)


def _clear_output(content: dict[str, Any]) -> Iterator[Line]:
    yield {"type": "clear_output", "wait": content.get("wait") is True}


def _error(content: dict[str, Any]) -> Iterator[Line]:
    traceback = content.get("traceback")
    frames = [_plain(frame) for frame in traceback[:MAX_FRAMES]] if isinstance(traceback, list) else []
    room = MAX_ERROR_CHARS
    kept: list[str] = []
    for frame in frames:
        kept.append(frame[:room])
        room -= len(frame)
        if room <= 0:
            break
    yield error_line(_plain(content.get("ename")), _plain(content.get("evalue")), kept)


def _display(kind: str, content: dict[str, Any]) -> Line:
    data, metadata, transient = (content.get(key) for key in ("data", "metadata", "transient"))
    line: Line = {
        "type": kind,
        "data": _bundle(data) if isinstance(data, dict) else {},
        "metadata": metadata if isinstance(metadata, dict) else {},
    }
    display_id = transient.get("display_id") if isinstance(transient, dict) else None
    if isinstance(display_id, str) and len(display_id) <= MAX_NAME_CHARS:
        line["display_id"] = display_id
    return line


def _bundle(data: dict[Any, Any]) -> dict[str, Any]:
    """Returns values by MIME type: JSON for JSON types, and text for others."""
    return {
        mime: value if _JSON_TYPE.match(mime) else _text(value)
        for mime, value in list(data.items())[:MAX_FORMS]
        if isinstance(mime, str) and len(mime) <= MAX_NAME_CHARS and value is not None
    }


def _text(value: object) -> str:
    """Returns a value as text. Some kernels send a list of lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "".join(value)
    return json.dumps(value)


def _plain(value: object) -> str:
    """Returns text without the colors of a terminal."""
    return _ANSI.sub("", value)[:MAX_ERROR_CHARS] if isinstance(value, str) else ""


_READERS: dict[str, Callable[[dict[str, Any]], Iterator[Line]]] = {
    "stream": _stream,
    "display_data": _display_data,
    "execute_result": _execute_result,
    "update_display_data": _update_display,
    "clear_output": _clear_output,
    "error": _error,
}
