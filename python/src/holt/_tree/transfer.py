"""The progress and the results of transfers of trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from .local_tree import Skipped


@dataclass(frozen=True)
class TransferProgress:
    """The progress of a transfer of a tree. A total that is not known is None."""

    files: int
    bytes: int
    total_files: int | None
    total_bytes: int | None


OnTransfer = Callable[[TransferProgress], object]
"""A callback for the progress of a transfer."""


@dataclass(frozen=True)
class TransferResult:
    """The result of a transfer. `skipped` has the relative paths that were left out."""

    files: int
    bytes: int
    directories: int
    symlinks: int
    skipped: list[Skipped] = field(default_factory=list[Skipped])


@dataclass(frozen=True)
class SyncResult:
    """The changes that were made, or would be with `dry_run`. Paths are relative."""

    sent: list[str]
    removed: list[str]
    unchanged: int
    bytes: int
    skipped: list[Skipped]
