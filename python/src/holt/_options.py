"""The options of calls: values that may be absent, durations, paths and queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import Enum
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any, Final, Union

from ._model import to_wire


class _Unset(Enum):
    UNSET = 0

    def __repr__(self) -> str:
        return "..."


UNSET: Final = _Unset.UNSET
"""The value of an option that is not given, where None has a meaning of its own."""

Unset = _Unset
"""The type of `UNSET`."""

Seconds = Union[float, timedelta]
"""A duration: a number of seconds, or a `timedelta`."""

RuntimePath = Union[str, "PathLike[str]"]
"""An absolute path inside a runtime: text, or a `PurePosixPath`."""


FileMode = Union[str, int]
"""The mode of a file: octal digits as text, or a number."""


def mode_text(mode: FileMode | None) -> str | None:
    """Returns a mode as the service takes it, in octal digits."""
    return f"{mode:04o}" if isinstance(mode, int) else mode


def seconds(duration: Seconds) -> float:
    """Returns a duration in seconds, as a whole number if it is one."""
    value = duration.total_seconds() if isinstance(duration, timedelta) else duration
    return int(value) if float(value).is_integer() else value


def path_text(path: RuntimePath) -> str:
    """Returns a path inside a runtime as the service takes it."""
    return path.as_posix() if isinstance(path, PurePath) else fspath(path)


def text_of(value: object, name: str) -> str:
    """Returns a value that has to be a text. `name` is the option that has it."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {type(value).__name__}")
    return value


def check_names(call: str, options: Mapping[str, Any], known: type) -> None:
    """Refuses an option that a call does not have, as Python does for a call without `**`.

    `known` is the `TypedDict` of the options.
    """
    for name in options:
        if name not in known.__annotations__:
            from difflib import get_close_matches

            near = get_close_matches(name, known.__annotations__, 1)
            hint = f". Did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"{call}() got an unexpected keyword argument '{name}'{hint}")


def given(**options: Any) -> dict[str, Any]:
    """Returns the options that are given, as JSON. None is left out; `UNSET` is, too."""
    return {name: to_wire(value) for name, value in options.items() if value is not None and value is not UNSET}


def nullable(**options: Any) -> dict[str, Any]:
    """Returns the options that are given, as JSON. None becomes null; `UNSET` is left out."""
    return {
        name: seconds(value) if isinstance(value, timedelta) else to_wire(value)
        for name, value in options.items()
        if value is not UNSET
    }


def query_text(query: Mapping[str, Any]) -> dict[str, str]:
    """Returns the fields of a query that are given, as text."""
    return {name: _field_text(value) for name, value in query.items() if value is not None and value is not UNSET}


def joined(names: str | Sequence[str] | None) -> str | None:
    """Returns names as one field of a query.

    One name may stand alone; a text is a sequence, too.
    """
    if isinstance(names, str):
        return names
    return ",".join(names) if names else None


def _field_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, timedelta):
        return str(seconds(value))
    return str(to_wire(value))
