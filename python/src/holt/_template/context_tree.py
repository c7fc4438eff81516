"""The part of a local directory that a build reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .._tree.local_tree import LocalEntry, LocalTree, Skipped, entry_of, keep_all, paths_in
from .ignore_file import IgnoreFile


@dataclass(frozen=True)
class WantedContext:
    """A directory to send."""

    directory: Path
    dockerfile: Path | None = None
    """The path of the Dockerfile, for rules of its own; None if it has none."""
    only: Sequence[str] | None = None
    """Patterns as in COPY.

    A path stays out unless it matches one or is below or above such a path.
    """


def read_context_tree(wanted: WantedContext) -> LocalTree:
    """Reads the context of a build, without the paths that its .dockerignore excludes.

    An excluded directory is kept if something in it was included again. Sockets, devices, FIFOs and
    names that are not UTF-8 are skipped. A second name of a file is a hard link to it.
    """
    root = wanted.directory
    top = entry_of(root, "")
    if isinstance(top, Skipped) or top.type != "directory":
        raise NotADirectoryError(20, "Not a directory", str(root))
    return _Reading(root, _ignore_file_of(wanted), wanted.only).read(top)


class _Reading:
    def __init__(self, root: Path, ignore: IgnoreFile | None, only: Sequence[str] | None) -> None:
        self._root = root
        self._ignore = ignore
        self._only = None if only is None else [first_fixed_part(pattern) for pattern in only]
        self._entries: list[LocalEntry] = []
        self._skipped: list[Skipped] = []
        self._names: dict[tuple[int, int], str] = {}
        self._pending: list[LocalEntry] = []
        """The directories that are included only with an entry in them, outermost first."""

    def read(self, top: LocalEntry) -> LocalTree:
        self._entries.append(top)
        waiting = self._visit("")
        while waiting:
            path = waiting.pop()
            if self._take(path):
                waiting.extend(self._visit(path))
        return LocalTree(self._entries, self._skipped)

    def _take(self, path: str) -> bool:
        """Takes an entry, if it is included. Returns true for a directory to read."""
        try:
            entry = entry_of(self._root, path)
        except FileNotFoundError:
            return False  # Temporary files can vanish before they are read.
        self._pending = [above for above in self._pending if path.startswith(f"{above.path}/")]
        ignored = self._ignores(path)
        if isinstance(entry, Skipped):
            if not ignored:
                self._skipped.append(entry)
            return False
        if not ignored:
            self._entries.extend([*self._pending, self._linked(entry)])
            self._pending = []
        elif entry.type == "directory" and self._ignore is not None and self._ignore.has_exceptions:
            self._pending.append(entry)
        else:
            return False
        return entry.type == "directory"

    def _visit(self, folder: str) -> list[str]:
        skipped: list[Skipped] = []
        paths = paths_in(self._root, folder, keep_all, skipped)
        self._skipped.extend(one for one in skipped if self._wants(one.path) and not self._ignores(one.path))
        return [path for path in reversed(paths) if self._wants(path)]

    def _linked(self, entry: LocalEntry) -> LocalEntry:
        """Returns the entry, or the link to the first name of the same file."""
        if entry.identity is None:
            return entry
        target = self._names.setdefault(entry.identity, entry.path)
        return entry if target == entry.path else replace(entry, type="hardlink", size_bytes=0, target=target)

    def _ignores(self, path: str) -> bool:
        return self._ignore is not None and self._ignore.ignores(path)

    def _wants(self, path: str) -> bool:
        if self._only is None:
            return True
        return any(
            one in ("", path) or path.startswith(f"{one}/") or one.startswith(f"{path}/") for one in self._only
        )


def first_fixed_part(pattern: str) -> str:
    """Returns the part of a pattern before its first wildcard. Anything below it may match."""
    parts: list[str] = []
    for part in pattern.split("/"):
        if re.search(r"[*?\[\\]", part):
            break
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _ignore_file_of(wanted: WantedContext) -> IgnoreFile | None:
    """Returns the rules: those of the Dockerfile, else those of the directory; None for none."""
    places = [] if wanted.dockerfile is None else [Path(f"{wanted.dockerfile}.dockerignore")]
    for place in (*places, wanted.directory / ".dockerignore"):
        try:
            return IgnoreFile(place.read_text("utf-8"), str(place))
        except (FileNotFoundError, NotADirectoryError):
            continue
    return None
