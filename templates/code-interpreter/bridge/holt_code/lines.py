"""Lines of a run: one JSON object each, encoded within limits."""

import json
import math
from collections.abc import Mapping
from typing import Any

from .limits import MAX_DEPTH, MAX_LINE_BYTES, MAX_METADATA_BYTES, MAX_VALUES

Line = dict[str, Any]
"""A line without its cursor."""


def encode(line: Mapping[str, Any]) -> bytes:
    """Returns a line as JSON with a line feed. NaN and infinities become null."""
    return _dump(line) + b"\n"


def encode_line(line: Line, cursor: int) -> tuple[bytes, bool]:
    """
    Returns a line of a run as JSON, and true if values were left out because of a limit.
    `metadata.holt_omitted` then has the size in bytes of each value that was left out; null for one
    with too many parts.
    """
    if "data" not in line:
        return encode({**line, "cursor": cursor}), False
    kept: dict[str, Any] = {}
    omitted: dict[str, int | None] = {}
    room, values = MAX_LINE_BYTES - MAX_METADATA_BYTES, MAX_VALUES
    # The short forms of a value come first: a picture does not push out its text.
    for size, mime in sorted((_size(value), mime) for mime, value in line["data"].items()):
        value = line["data"][mime]
        parts = _count(value, values)
        if parts > values or size > room:
            omitted[mime] = size if parts <= values else None
            continue
        kept[mime] = value
        room -= size
        values -= parts
    metadata = line["metadata"]
    if _count(metadata, values) > values or len(_dump(metadata)) > MAX_METADATA_BYTES:
        metadata = {}
    if omitted:
        metadata = {**metadata, "holt_omitted": omitted}
    cut = bool(omitted) or "holt_omitted" in metadata
    return encode({**line, "data": kept, "metadata": metadata, "cursor": cursor}), cut


def _size(value: object) -> int:
    """Returns the size of a value as JSON, in bytes. A value with too many parts counts as largest."""
    return len(_dump(value)) if _count(value, MAX_VALUES) <= MAX_VALUES else MAX_LINE_BYTES


def _count(value: object, limit: int) -> int:
    """Returns the number of values in a JSON value, or more than `limit` if one is too deep."""
    count, level = 0, [value]
    for _ in range(MAX_DEPTH):
        count += len(level)
        if count > limit:
            return count
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        if not inner:
            return count
        level = inner
    return limit + 1


def _dump(value: object) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except ValueError:
        # A number is not finite, or a lone surrogate has no UTF-8. JSON can name it by its escape.
        return json.dumps(_finite(value), allow_nan=False, separators=(",", ":")).encode()


def _finite(value: object) -> object:
    """Returns a JSON value in which each number is finite or null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
