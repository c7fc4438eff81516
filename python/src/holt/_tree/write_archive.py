"""A tree of this machine as a tar stream."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ..errors import Conflict
from .local_tree import EntryType, LocalEntry

_chunk_bytes = 256 * 1024
_types: dict[EntryType, bytes] = {
    "file": tarfile.REGTYPE,
    "directory": tarfile.DIRTYPE,
    "symlink": tarfile.SYMTYPE,
    "hardlink": tarfile.LNKTYPE,
}


def archive_of(
    root: Path, entries: Iterable[LocalEntry], on_entry: Callable[[LocalEntry], object]
) -> Iterator[bytes]:
    """Yields the entries as a tar stream. The tree's own directory is `./`.

    `on_entry` is called for each written entry.
    """
    waiting = bytearray()
    for part in _parts_of(root, entries, on_entry):
        waiting += part
        if len(waiting) >= _chunk_bytes:
            yield bytes(waiting)
            waiting.clear()
    yield bytes(waiting)


def _parts_of(
    root: Path, entries: Iterable[LocalEntry], on_entry: Callable[[LocalEntry], object]
) -> Iterator[bytes]:
    for entry in entries:
        yield _header_of(entry)
        if entry.type == "file":
            yield from _content_of(root / entry.path, entry.size_bytes)
            yield bytes(-entry.size_bytes % tarfile.BLOCKSIZE)
        on_entry(entry)
    yield bytes(2 * tarfile.BLOCKSIZE)


def _header_of(entry: LocalEntry) -> bytes:
    header = tarfile.TarInfo(entry.path or ".")
    header.type = _types[entry.type]
    header.mode = entry.mode
    header.size = entry.size_bytes
    header.linkname = entry.target
    whole, fraction = divmod(entry.modified_at_ns, 1_000_000_000)
    header.mtime = whole
    if fraction:
        # A float does not hold nanoseconds.
        sign, (before, behind) = ("", (whole, fraction)) if whole >= 0 else ("-", divmod(-entry.modified_at_ns, 10**9))
        header.pax_headers = {"mtime": f"{sign}{before}.{behind:09d}"}
    return header.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def _content_of(path: Path, size: int) -> Iterator[bytes]:
    """Yields exactly the counted bytes. A file that got shorter ends the archive with an error."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb", buffering=0) as file:
        left = size
        while left > 0:
            chunk = file.read(min(_chunk_bytes, left))
            if not chunk:
                raise Conflict(f"{path} got shorter while it was sent")
            left -= len(chunk)
            yield chunk
