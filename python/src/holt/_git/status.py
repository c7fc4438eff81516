"""The parser of `git status`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .results import GitChange, GitStatus, GitStatusEntry

_changes: dict[str, GitChange] = {
    "M": "modified",
    "A": "added",
    "D": "deleted",
    "R": "renamed",
    "C": "copied",
    "T": "type_changed",
    "U": "unmerged",
}
_fields_before_path = {"1": 8, "2": 9, "u": 10, "?": 1}
"""The number of fields before the path, by the type of a line.

`1` is an ordinary change, `2` a renamed or copied file, `u` an unmerged one, `?` one
that is not tracked.
"""


def parse_status(text: str) -> GitStatus:
    """Parses `git status --porcelain=v2 --branch -z` (git-status(1), Porcelain Format Version 2).

    Unknown lines are left out, as git asks of readers.
    """
    headers: dict[str, str] = {}
    entries: list[GitStatusEntry] = []
    lines = iter(text.split("\0"))
    for line in lines:
        if line.startswith("# "):
            name, _, value = line[2:].partition(" ")
            headers[name] = value
            continue
        entry = _parse_entry(line, lines)
        if entry is not None:
            entries.append(entry)
    counts = re.fullmatch(r"\+(\d+) -(\d+)", headers.get("branch.ab", ""))
    return GitStatus(
        branch=_unless("(detached)", headers.get("branch.head")),
        commit=_unless("(initial)", headers.get("branch.oid")),
        upstream=headers.get("branch.upstream"),
        ahead=int(counts[1]) if counts else 0,
        behind=int(counts[2]) if counts else 0,
        entries=entries,
    )


def _parse_entry(line: str, rest: Iterator[str]) -> GitStatusEntry | None:
    parts = line.split(" ")
    count = _fields_before_path.get(parts[0])
    path = "" if count is None else " ".join(parts[count:])
    if not path:
        return None
    if parts[0] == "?":
        return GitStatusEntry(path=path, worktree="untracked")
    if parts[0] == "u":
        return GitStatusEntry(path=path, index="unmerged", worktree="unmerged")
    # The earlier path of a renamed file is a line of its own.
    previous = next(rest, None) if parts[0] == "2" else None
    state = parts[1].ljust(2, ".")
    return GitStatusEntry(
        path=path, previous_path=previous, index=_changes.get(state[0]), worktree=_changes.get(state[1])
    )


def _unless(none: str, value: str | None) -> str | None:
    return None if value == none else value
