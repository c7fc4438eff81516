"""The entries of a directory tree on this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

EntryFilter = Callable[[str, bool], bool]
"""A filter by relative path and whether it is a directory. False leaves the entry out.

An excluded directory excludes its content.
"""

EntryType = Literal["file", "directory", "symlink", "hardlink"]


@dataclass(frozen=True)
class LocalEntry:
    """An entry of a tree. `path` is empty for the tree's own directory."""

    path: str
    type: EntryType
    mode: int
    modified_at_ns: int
    size_bytes: int = 0
    target: str = ""
    identity: tuple[int, int] | None = None
    """Equal for names of the same file; None for a file with one name."""


@dataclass(frozen=True)
class Skipped:
    """A relative path that was left out, with the reason."""

    path: str
    reason: str


@dataclass(frozen=True)
class LocalTree:
    """The entries of a tree in order, each directory before its content."""

    entries: list[LocalEntry]
    skipped: list[Skipped]


def keep_all(path: str, is_directory: bool) -> bool:
    """Leaves out nothing."""
    return True


def read_local_tree(root: Path, keeps: EntryFilter = keep_all, *, keeps_hard_links: bool = True) -> LocalTree:
    """Returns every entry of a tree.

    Sockets, devices, FIFOs, and names or link targets that are not UTF-8 are skipped and listed. A
    second name of a file is a hard link to the first or, with `keeps_hard_links` false, a
    separate file.
    """
    top = entry_of(root, "")
    if isinstance(top, Skipped) or top.type != "directory":
        raise NotADirectoryError(20, "Not a directory", str(root))
    entries: list[LocalEntry] = []
    skipped: list[Skipped] = []
    first: dict[tuple[int, int], str] = {}
    waiting = [""]
    while waiting:
        path = waiting.pop()
        entry = entry_of(root, path) if path else top
        if isinstance(entry, Skipped):
            skipped.append(entry)
            continue
        entries.append(_sent(replace(entry, mode=entry.mode & 0o777), first, keeps_hard_links))
        if entry.type == "directory":
            waiting.extend(reversed(paths_in(root, path, keeps, skipped)))
    return LocalTree(entries, skipped)


def _sent(entry: LocalEntry, first: dict[tuple[int, int], str], keeps_hard_links: bool) -> LocalEntry:
    if entry.identity is None or not keeps_hard_links:
        return entry
    target = first.setdefault(entry.identity, entry.path)
    return entry if target == entry.path else replace(entry, type="hardlink", size_bytes=0, target=target)


def paths_in(root: Path, folder: str, keeps: EntryFilter, skipped: list[Skipped]) -> list[str]:
    """Returns the entries of a directory, sorted by name. Names that are not UTF-8 are skipped."""
    paths: list[str] = []
    with os.scandir(root / folder) as found:
        for one in found:
            path = f"{folder}/{one.name}" if folder else one.name
            if not keeps(path, one.is_dir(follow_symlinks=False)):
                continue
            if is_utf8(one.name):
                paths.append(path)
            else:
                skipped.append(Skipped(shown_path(path), "its name is not UTF-8"))
    return sorted(paths)


def entry_of(root: Path, path: str) -> LocalEntry | Skipped:
    """Returns one entry of a tree: symlinks as such, modes with their set-id bits."""
    place = root / path
    found = os.lstat(place)
    mode, times = stat.S_IMODE(found.st_mode), found.st_mtime_ns
    if path and getattr(found, "st_reparse_tag", None) == _junction_tag:
        # To lstat it is a directory. It may lead anywhere, also to a directory above it.
        return Skipped(path, "it is a junction of Windows")
    if stat.S_ISDIR(found.st_mode):
        return LocalEntry(path, "directory", mode, times)
    if stat.S_ISREG(found.st_mode):
        identity = (found.st_dev, found.st_ino) if found.st_nlink > 1 else None
        return LocalEntry(path, "file", mode, times, size_bytes=found.st_size, identity=identity)
    if not stat.S_ISLNK(found.st_mode):
        return Skipped(path, "it is a socket, a device or a FIFO")
    target = os.readlink(place)
    if not is_utf8(target):
        return Skipped(path, "what it links to is not UTF-8")
    return LocalEntry(path, "symlink", mode, times, target=target)


_junction_tag = 0xA0000003
"""The mark of a junction: IO_REPARSE_TAG_MOUNT_POINT (Windows, winnt.h)."""


def is_utf8(text: str) -> bool:
    """Returns true for a name of the file system that is UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown_path(path: str) -> str:
    r"""Returns a path as text that people can read: each wrong byte is `\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
