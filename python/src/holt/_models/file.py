"""The answers about files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Union

from .._model import Model
from .common import StateReason


@dataclass(kw_only=True, repr=False)
class FileInfo(Model):
    """The facts about a file."""

    path: str
    name: str
    type: Literal["file", "directory", "symlink", "fifo", "socket", "device"]
    size_bytes: int
    mode: str
    permissions: str
    uid: int
    gid: int
    user: str
    group: str
    modified_at: datetime
    symlink_target: str | None
    path_base64: str | None = None
    etag: str | None = None


@dataclass(kw_only=True, repr=False)
class FileTransferred(Model):
    """The outcome of a copy or a move."""

    success: Literal[True]
    source: str
    destination: str
    entry: FileInfo | None = None


@dataclass(kw_only=True, repr=False)
class FileChanged(Model):
    """The outcome of a change of mode or owner."""

    success: Literal[True]
    path: str
    changed: int
    entry: FileInfo


@dataclass(kw_only=True, repr=False)
class SearchMatch(Model):
    """A match of a search: a line or a name."""

    path: str
    path_base64: str | None = None
    type: Literal["file", "directory", "symlink", "fifo", "socket", "device"]
    line: int | None
    column: int | None
    length: int | None
    text: str | None
    text_truncated: bool


@dataclass(kw_only=True, repr=False)
class SearchResult(Model):
    """The matches of a search."""

    data: list[SearchMatch]
    truncated: Literal["max_results", "max_bytes", "timeout"] | None
    files_searched: int
    files_skipped: int


@dataclass(kw_only=True, repr=False)
class SearchFound(Model):
    """A match, as it is found."""

    type: Literal["match"]
    cursor: int
    match: SearchMatch


@dataclass(kw_only=True, repr=False)
class SearchEnd(Model):
    """The end of a search."""

    type: Literal["end"]
    cursor: int
    truncated: Literal["max_results", "max_bytes", "timeout"] | None
    files_searched: int
    files_skipped: int


SearchItem = Union[SearchFound, SearchEnd]
"""An item of a streamed search."""


@dataclass(kw_only=True, repr=False)
class ReplacedFile(Model):
    """A file that has the pattern."""

    path: str
    path_base64: str | None = None
    count: int
    error: StateReason | None


@dataclass(kw_only=True, repr=False)
class ReplaceResult(Model):
    """The outcome of a replacement in files."""

    files: list[ReplacedFile]
    total_count: int
    dry_run: bool


@dataclass(kw_only=True, repr=False)
class TreeExtracted(Model):
    """The outcome of an unpacked archive."""

    success: Literal[True]
    path: str
    entry: FileInfo
    files: int
    directories: int
    symlinks: int
    size_bytes: int


@dataclass(kw_only=True, repr=False)
class DiffEntry(Model):
    """A change in a diff."""

    path: str
    path_base64: str | None = None
    change: Literal["added", "modified", "removed", "type_changed", "attributes"]
    type: Literal["file", "directory", "symlink", "fifo", "socket", "device", "unknown"] | None
    previous_type: Literal["file", "directory", "symlink", "fifo", "socket", "device", "unknown"] | None
    size_bytes: int | None
    previous_size_bytes: int | None
    mode: str | None
    previous_mode: str | None
    uid: int | None
    previous_uid: int | None
    gid: int | None
    previous_gid: int | None
    patch: Literal["shown", "binary", "too_large", "not_in_git", "changed_meanwhile", "patch_full", "not_kept"] | None


@dataclass(kw_only=True, repr=False)
class DiffBase(Model):
    """The base that the changes of a diff are relative to."""

    type: Literal["template", "snapshot", "fork"]
    id: str
    name: str | None


@dataclass(kw_only=True, repr=False)
class FileDiff(Model):
    """A page of changes, sorted by path."""

    since: DiffBase
    data: list[DiffEntry]
    next_cursor: str | None
    truncated: bool
    patch: str | None
    patch_complete: bool | None


@dataclass(kw_only=True, repr=False)
class Upload(Model):
    """The progress of an upload in parts."""

    upload_id: str
    path: str
    offset_bytes: int
    completed: bool


@dataclass(kw_only=True, repr=False)
class WatchStart(Model):
    """The first item: later changes are reported."""

    type: Literal["start"]
    cursor: int


@dataclass(kw_only=True, repr=False)
class WatchChange(Model):
    """A change of one path."""

    type: Literal["created", "modified", "attributes", "removed"]
    cursor: int
    path: str
    path_base64: str | None = None
    directory: bool


@dataclass(kw_only=True, repr=False)
class WatchMoved(Model):
    """A path that was moved."""

    type: Literal["moved"]
    cursor: int
    path: str
    path_base64: str | None = None
    from_: str
    from_base64: str | None = None
    directory: bool


@dataclass(kw_only=True, repr=False)
class WatchOverflow(Model):
    """Changes before this were lost: read the directory again."""

    type: Literal["overflow"]
    cursor: int


@dataclass(kw_only=True, repr=False)
class WatchEnd(Model):
    """The end of a watch."""

    type: Literal["end"]
    cursor: int
    reason: Literal["removed", "too_many_directories", "closed"] | None = None


WatchItem = Union[WatchStart, WatchChange, WatchMoved, WatchOverflow, WatchEnd]
"""An item of a watch."""
