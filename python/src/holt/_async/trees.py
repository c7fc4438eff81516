"""Transfers of directory trees between this machine and a runtime."""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .._callbacks import tell
from .._io.async_parts import AsyncReader, from_thread, in_thread, iterate_in_thread, shielded
from .._models.file import FileInfo
from .._options import RuntimePath, path_text
from .._tree.local_tree import EntryFilter, LocalEntry, keep_all, read_local_tree
from .._tree.plan_sync import SyncPlan, has_same_time, plan_sync
from .._tree.transfer import OnTransfer, SyncResult, TransferProgress, TransferResult
from .._tree.unpack import unpack_here
from .._tree.write_archive import archive_of
from ..errors import AlreadyExists, PathNotFound

if TYPE_CHECKING:
    from .files import AsyncFiles

_deepest = 64
_page_entries = 10_000
_clean_up_secs = 30.0
_digest_bytes = 1024 * 1024


class TransferCount:
    """Counts transferred data and reports it, in the thread of the caller."""

    def __init__(self, on_progress: OnTransfer | None, total_files: int | None, total_bytes: int | None) -> None:
        self._report = None if on_progress is None else from_thread(partial(tell, on_progress))
        self._totals = (total_files, total_bytes)
        self._files = self._bytes = 0

    def add(self, size: int) -> None:
        self._files += 1
        self._bytes += size
        if self._report is not None:
            self._report(TransferProgress(self._files, self._bytes, *self._totals))


async def upload_tree(
    files: AsyncFiles,
    local: Path,
    remote: RuntimePath,
    *,
    overwrite: bool,
    user: str | None,
    on_progress: OnTransfer | None,
) -> TransferResult:
    """Copies a directory of this machine into a runtime as one archive; see `files.upload`."""
    # The answer to the archive reports this too, but only after part of it was sent.
    if not overwrite and await files.exists(remote):
        raise AlreadyExists(f"{path_text(remote)} already exists")
    tree = await in_thread(read_local_tree, local)
    await _send(files, local, remote, tree.entries, overwrite=overwrite, user=user, on_progress=on_progress)
    return TransferResult(
        files=sum(_is_content(entry) for entry in tree.entries),
        bytes=sum(entry.size_bytes for entry in tree.entries),
        directories=sum(entry.type == "directory" for entry in tree.entries),
        symlinks=sum(entry.type == "symlink" for entry in tree.entries),
        skipped=tree.skipped,
    )


async def download_tree(
    files: AsyncFiles, remote: RuntimePath, local: Path, *, overwrite: bool, on_progress: OnTransfer | None
) -> TransferResult:
    """Copies a directory of a runtime to this machine as one archive; see `files.download`."""
    local = Path(os.path.abspath(local))
    if not overwrite and os.path.lexists(local):
        raise AlreadyExists(f"{local} already exists")
    async with files.archive(remote) as archive:
        staging = _beside(local)
        await in_thread(partial(local.parent.mkdir, parents=True, exist_ok=True))
        await in_thread(staging.mkdir, 0o700)
        try:
            progress = TransferCount(on_progress, None, None)
            made = await in_thread(unpack_here, AsyncReader(archive), staging, progress.add)
            await in_thread(_put_in_place, staging, local, overwrite)
        except BaseException:
            with shielded(_clean_up_secs):
                await in_thread(_remove, staging)
            raise
    return TransferResult(made.files, made.bytes, made.directories, made.symlinks, made.skipped)


async def sync_tree(
    files: AsyncFiles,
    local: Path,
    remote: RuntimePath,
    *,
    delete: bool,
    keeps: EntryFilter | None,
    checksum: bool,
    dry_run: bool,
    user: str | None,
    on_progress: OnTransfer | None,
) -> SyncResult:
    """Sends new and changed entries as one archive that is merged; see `files.sync`."""
    filter_ = keeps or keep_all
    tree = await in_thread(partial(read_local_tree, local, filter_, keeps_hard_links=False))
    unsendable = {one.path for one in tree.skipped}
    there = await _remote_tree(files, path_text(remote))
    equal = await _equal_files(files, local, tree.entries, there or {}) if checksum else None
    plan = plan_sync(
        tree.entries,
        there or {},
        deletes=delete,
        # Local entries that cannot be sent take no part, so they are not removed remotely.
        keeps=lambda path, is_directory: path not in unsendable and filter_(path, is_directory),
        is_same=lambda entry, other: has_same_time(entry, other) if equal is None else entry.path in equal,
    )
    if not dry_run:
        entries = tree.entries if there is None else plan.send
        await _carry_out(files, local, path_text(remote), plan, entries, user=user, on_progress=on_progress)
    replaced = [path for path in plan.make_room if there is not None and there[path].type == "directory"]
    return SyncResult(
        sent=[entry.path for entry in plan.send],
        removed=replaced + plan.remove,
        unchanged=plan.unchanged,
        bytes=sum(entry.size_bytes for entry in plan.send),
        skipped=tree.skipped,
    )


async def _carry_out(
    files: AsyncFiles,
    local: Path,
    remote: str,
    plan: SyncPlan,
    entries: list[LocalEntry],
    *,
    user: str | None,
    on_progress: OnTransfer | None,
) -> None:
    base = remote.rstrip("/")
    for path in plan.make_room:
        await files.remove(f"{base}/{path}", recursive=True)
    if entries:
        await _send(files, local, remote, entries, merge=True, user=user, on_progress=on_progress)
    for path in plan.remove:
        await files.remove(f"{base}/{path}", recursive=True)


async def _send(
    files: AsyncFiles,
    local: Path,
    remote: RuntimePath,
    entries: list[LocalEntry],
    *,
    overwrite: bool | None = None,
    merge: bool | None = None,
    user: str | None,
    on_progress: OnTransfer | None,
) -> None:
    total_files = sum(_is_content(entry) for entry in entries)
    total_bytes = sum(entry.size_bytes for entry in entries)

    def parts():
        progress = TransferCount(on_progress, total_files, total_bytes)

        def count(entry: LocalEntry) -> None:
            if _is_content(entry):
                progress.add(entry.size_bytes)

        return iterate_in_thread(archive_of(local, entries, count))

    await files.extract(
        remote,
        parts,
        format="tar",
        overwrite=overwrite,
        merge=merge,
        user=user,
        max_entries=max(1, len(entries)),
    )


async def _remote_tree(files: AsyncFiles, remote: str) -> dict[str, FileInfo] | None:
    """Returns the entries below a remote directory by relative path; None if it does not exist."""
    prefix = "/" if remote == "/" else f"{remote.rstrip('/')}/"
    tree: dict[str, FileInfo] = {}
    try:
        async for entry in files.list(remote, depth=_deepest, limit=_page_entries):
            # Local names are UTF-8, so another name cannot match one.
            if entry.path.startswith(prefix) and entry.path_base64 is None:
                tree[entry.path.removeprefix(prefix)] = entry
    except PathNotFound:
        return None
    return tree


async def _equal_files(
    files: AsyncFiles, local: Path, entries: list[LocalEntry], there: dict[str, FileInfo]
) -> set[str]:
    """Returns the paths of files with the same content on both sides."""
    equal: set[str] = set()
    for entry in entries:
        other = there.get(entry.path)
        if entry.type != "file" or other is None or other.type != "file" or other.size_bytes != entry.size_bytes:
            continue
        digest = hashlib.sha256()
        async with files.read_stream(other.path) as chunks:
            async for chunk in chunks:
                digest.update(chunk)
        if digest.digest() == await in_thread(_digest_of, local / entry.path):
            equal.add(entry.path)
    return equal


def _digest_of(path: Path) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_digest_bytes):
            digest.update(chunk)
    return digest.digest()


def _put_in_place(staging: Path, local: Path, overwrite: bool) -> None:
    old = _beside(local)
    had = os.path.lexists(local)
    if had and not overwrite:
        raise AlreadyExists(f"{local} already exists")
    if had:
        os.rename(local, old)
    try:
        os.rename(staging, local)
    except OSError:
        if had:
            os.rename(old, local)
        raise
    if had:
        _remove(old)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    """Returns a name beside the destination for content that is assembled."""
    return path.parent / f".holt-{uuid.uuid4().hex[:13]}"


def _is_content(entry: LocalEntry) -> bool:
    return entry.type in ("file", "hardlink")
