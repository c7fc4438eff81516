"""The steps that make a tree of a runtime equal to a local one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from .._models.file import FileInfo
from ..errors import IsDirectory
from .local_tree import EntryFilter, LocalEntry

_epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class SyncPlan:
    """The steps, in their order: make room, send, remove."""

    make_room: list[str]
    """The paths to remove first, because an entry of another type takes their place."""
    send: list[LocalEntry]
    remove: list[str]
    """The paths to remove afterwards, because they do not exist here."""
    unchanged: int


def plan_sync(
    local: list[LocalEntry],
    remote: Mapping[str, FileInfo],
    *,
    deletes: bool,
    keeps: EntryFilter,
    is_same: Callable[[LocalEntry, FileInfo], bool],
) -> SyncPlan:
    """Returns the steps for two trees.

    With `deletes`, remote entries that do not exist here are removed. `keeps` filters both sides.
    `is_same` compares files of the same size and mode.
    """
    send: list[LocalEntry] = []
    make_room: list[str] = []
    for entry in local:
        other = remote.get(entry.path)
        if entry.path == "" or (other is not None and _is_unchanged(entry, other, is_same)):
            continue
        if other is not None and (other.type == "directory") != (entry.type == "directory"):
            if other.type == "directory" and not deletes:
                what = f"{entry.path} is a directory in the runtime and none here"
                raise IsDirectory(what, hint="Let it be removed (delete), or move it away.")
            make_room.append(entry.path)
        send.append(entry)
    here = {entry.path for entry in local}
    surplus = _surplus(here, remote, keeps) if deletes else []
    remove = [path for path in surplus if not any(path == one or path.startswith(f"{one}/") for one in make_room)]
    return SyncPlan(make_room, send, remove, len(local) - 1 - len(send))


def has_same_time(entry: LocalEntry, other: FileInfo) -> bool:
    """Compares times in milliseconds, the precision of the service."""
    return (other.modified_at - _epoch) // timedelta(milliseconds=1) == entry.modified_at_ns // 1_000_000


def _is_unchanged(entry: LocalEntry, other: FileInfo, is_same: Callable[[LocalEntry, FileInfo], bool]) -> bool:
    if entry.type == "directory":
        return other.type == "directory"
    if entry.type == "symlink":
        return other.type == "symlink" and other.symlink_target == entry.target
    if other.type != "file" or other.size_bytes != entry.size_bytes:
        return False
    return int(other.mode, 8) & 0o777 == entry.mode and is_same(entry, other)


def _surplus(here: set[str], remote: Mapping[str, FileInfo], keeps: EntryFilter) -> list[str]:
    """Returns the topmost remote paths that do not exist here.

    A directory with an excluded entry in it is kept.
    """
    kept: dict[str, bool] = {"": True}

    def is_kept(path: str, is_directory: bool) -> bool:
        parent = path.rpartition("/")[0]
        if parent not in kept:
            kept[parent] = is_kept(parent, True)
        return kept[parent] and keeps(path, is_directory)

    holders: set[str] = set()
    for path, info in remote.items():
        if not is_kept(path, info.type == "directory"):
            holders.update(_above(path))
    stays = here | holders
    return [
        path
        for path, info in remote.items()
        if path not in stays
        and is_kept(path, info.type == "directory")
        and all(above in stays for above in _above(path))
    ]


def _above(path: str) -> Iterator[str]:
    parent = path.rpartition("/")[0]
    while parent:
        yield parent
        parent = parent.rpartition("/")[0]
