"""Writes the tree of an archive that a runtime sent. All of the archive is untrusted."""

from __future__ import annotations

import json
import os
import re
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar, cast

from ..errors import InvalidArchive, InvalidPath, TooLarge
from .local_tree import Skipped, is_utf8, shown_path

_T = TypeVar("_T")

_most_entries = 1_000_000
_most_path_bytes = 4096
_most_left_out = 100
_most_trailer_bytes = 1024 * 1024
"""The largest possible record of tar, which may follow the end of an archive."""
_most_header_bytes = 1024 * 1024
"""The most bytes of a header that extends another. Python's reader keeps it in memory."""
_extending_types = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_chunk_bytes = 256 * 1024
_time = re.compile(r"(-?)(\d{1,11})(?:\.(\d*))?")
_device_name = re.compile(
    r"(?:con|prn|aux|nul|com[0-9\u00b9\u00b2\u00b3]|lpt[0-9\u00b9\u00b2\u00b3]|conin\$|conout\$)\s*(?:\.|$)", re.I
)
"""The names that Windows reserves for devices in every directory, also with an extension."""


class ByteSource(Protocol):
    """A stream of bytes that blocks."""

    def read(self, size: int = -1, /) -> bytes: ...


@dataclass
class Unpacked:
    """The entries that have been made so far, and those that were left out."""

    files: int = 0
    bytes: int = 0
    directories: int = 0
    symlinks: int = 0
    skipped: list[Skipped] = field(default_factory=list[Skipped])


@dataclass
class _Made:
    path: str
    mode: int
    mtime_ns: int
    target: str = ""


def unpack_here(source: ByteSource, staging: Path, on_file: Callable[[int], object]) -> Unpacked:
    """Makes the tree of an archive in an empty local directory that nobody else writes to.

    The archive cannot write outside. Each name is below the directory or refused. Files and
    directories are made new, in directories made here. Hard links lead to files made here.
    Symlinks are made last, and only if they stay inside. Set-id bits are dropped. `on_file` is
    called with the size of each file.
    """
    unpacking = _Unpacking(staging, on_file)
    file = cast("IO[bytes]", source)
    try:
        with _readable(
            lambda: tarfile.open(
                fileobj=file, mode="r|", bufsize=_chunk_bytes, encoding="utf-8", tarinfo=_StrictHeader
            )
        ) as tar:
            while (member := _readable(tar.next)) is not None:
                unpacking.take(tar, member)
            comment: object = tar.pax_headers.get("comment")
    except tarfile.TarError as error:
        raise InvalidArchive(f"The archive cannot be read: {error}") from error
    _drain(source)
    if isinstance(comment, str):
        unpacking.result.skipped.extend(_left_out_in(comment))
    unpacking.finish()
    return unpacking.result


def _readable(read: Callable[[], _T]) -> _T:
    """Reads a header. For some damage, Python's reader has errors of no kind of its own."""
    try:
        return read()
    except (ValueError, OverflowError) as error:
        raise tarfile.ReadError(str(error)) from error


class _StrictHeader(tarfile.TarInfo):
    """A header of an archive. Python's reader takes a damaged or missing one for the end."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> _StrictHeader:
        try:
            header = super().frombuf(buf, encoding, errors)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise  # Zeros, which end an archive.
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"{error}, and no end") from error
        if header.size < 0 or (header.type in _extending_types and header.size > _most_header_bytes):
            raise tarfile.ReadError("an impossible size")
        return header


def _drain(source: ByteSource) -> None:
    """Reads the rest of a record, so that the connection of the archive is used again."""
    rest = 0
    while data := source.read(_chunk_bytes):
        rest += len(data)
        if rest > _most_trailer_bytes:
            raise InvalidArchive("The archive cannot be read: too much follows its end")


class _Unpacking:
    def __init__(self, staging: Path, on_file: Callable[[int], object]) -> None:
        self.result = Unpacked()
        self._staging = staging
        self._on_file = on_file
        self._made: dict[str, str] = {"": "directory"}
        self._directories: list[_Made] = []
        self._hard_links: list[_Made] = []
        self._symlinks: list[_Made] = []
        self._entries = 0

    def take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        self._entries += 1
        if self._entries > _most_entries:
            raise TooLarge(f"The tree has more than {_most_entries} entries")
        if not is_utf8(member.name):
            shown = re.sub(r"^(?:\./+)+", "", shown_path(member.name))
            self.result.skipped.append(Skipped(shown[:_most_path_bytes], "its name is not UTF-8"))
            return
        path = relative_path(member.name)
        made = _Made(path, member.mode & 0o777, _time_of(member), member.linkname)
        if path == "" and not member.isdir():
            raise _outside()
        if member.issparse():
            raise InvalidArchive("The archive cannot be read: it has a sparse file")
        if member.isdir():
            self._directory(made)
        elif member.isreg():
            self._file(tar, member, made)
        elif not (member.issym() or member.islnk()):
            self.result.skipped.append(Skipped(path, "it is neither a file nor a link"))
        elif not is_utf8(member.linkname):
            self.result.skipped.append(Skipped(path, "what it links to is not UTF-8"))
        else:
            (self._symlinks if member.issym() else self._hard_links).append(made)

    def finish(self) -> None:
        for made in self._hard_links:
            self._hard_link(made)
        for made in self._symlinks:
            self._symlink(made)
        for made in reversed(self._directories):
            _set_facts(self._staging / made.path, made)
        self.result.directories = len(self._directories)

    def _directory(self, made: _Made) -> None:
        if made.path:
            self._claim(made.path, "directory")
            os.mkdir(self._staging / made.path, 0o700)
        elif any(one.path == "" for one in self._directories):
            raise _twice(".")
        self._directories.append(made)

    def _file(self, tar: tarfile.TarFile, member: tarfile.TarInfo, made: _Made) -> None:
        self._claim(made.path, "file")
        content = tar.extractfile(member)
        place = self._staging / made.path
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with open(os.open(place, flags, 0o600), "wb") as file:
            while content is not None and (chunk := content.read(_chunk_bytes)):
                file.write(chunk)
        _set_facts(place, made)
        self._count(member.size)

    def _hard_link(self, made: _Made) -> None:
        source = relative_path(made.target)
        if self._made.get(source) != "file":
            raise InvalidArchive("The archive has a hard link to what is no file in it")
        self._claim(made.path, "file")
        os.link(self._staging / source, self._staging / made.path)
        self._count(0)

    def _symlink(self, made: _Made) -> None:
        if not stays_inside(made.path, made.target):
            why = f"the symlink to {made.target} leads out of the tree"
            self.result.skipped.append(Skipped(made.path, why))
            return
        self._claim(made.path, "file")
        place = self._staging / made.path
        os.symlink(made.target, place)
        if os.utime in os.supports_follow_symlinks:
            os.utime(place, ns=(made.mtime_ns, made.mtime_ns), follow_symlinks=False)
        self.result.symlinks += 1

    def _count(self, size: int) -> None:
        self.result.files += 1
        self.result.bytes += size
        self._on_file(size)

    def _claim(self, path: str, kind: str) -> None:
        """Records a path. It is made once, in a directory that was made before."""
        if path in self._made:
            raise _twice(path)
        if self._made.get(path.rpartition("/")[0]) != "directory":
            raise InvalidArchive("The archive has an entry in what is no directory in it")
        self._made[path] = kind


def relative_path(name: str) -> str:
    """Returns the path below the tree for a name; empty for the tree itself."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name == "" or name.startswith("/") or not all(map(is_plain_name, parts)):
        raise _outside()
    if len(name.encode("utf-8", "surrogateescape")) > _most_path_bytes:
        raise _outside()
    return "/".join(parts)


def is_plain_name(name: str, platform: str = sys.platform) -> bool:
    r"""Returns true if a name names exactly one file in the directory where it is created.

    Windows takes `\` for a separator, `:` for a drive or a stream of another file, and some names
    for devices.
    """
    if name in ("", ".", "..") or "/" in name or "\0" in name or len(name.encode("utf-8", "surrogateescape")) > 255:
        return False
    if platform != "win32":
        return True
    return re.search(r"[\\:]|[. ]$", name) is None and _device_name.match(name) is None


def stays_inside(path: str, target: str) -> bool:
    """Returns true if a symlink at `path` stays inside the tree, whatever its other links are.

    `..` may only stand at the start of the target, because a name before it could be a link.
    """
    if target == "" or target.startswith("/") or "\0" in target:
        return False
    parts = [part for part in target.split("/") if part not in ("", ".")]
    climbs = 0
    while climbs < len(parts) and parts[climbs] == "..":
        climbs += 1
    return all(map(is_plain_name, parts[climbs:])) and climbs <= path.count("/")


def _set_facts(place: Path, made: _Made) -> None:
    # The time comes first, because Windows changes no time of a file that is read-only.
    os.utime(place, ns=(made.mtime_ns, made.mtime_ns))
    os.chmod(place, made.mode)


def _time_of(member: tarfile.TarInfo) -> int:
    """Returns the time in nanoseconds. The float that Python's reader makes of it is less exact."""
    found = _time.fullmatch(member.pax_headers.get("mtime") or str(int(member.mtime)))
    if found is None:
        raise InvalidArchive("The archive cannot be read: an entry has an impossible time")
    sign, whole, fraction = found.groups(default="")
    value = int(whole) * 1_000_000_000 + int(fraction[:9].ljust(9, "0"))
    return -value if sign else value


def _left_out_in(comment: str) -> list[Skipped]:
    """Returns the omitted paths that the comment of an archive lists (guest/PROTOCOL.md)."""
    try:
        parsed: Any = json.loads(comment)
    except ValueError:
        return []  # A comment may be anything.
    listed: Any = cast("dict[str, Any]", parsed).get("holt_left_out") if isinstance(parsed, dict) else None
    if not isinstance(listed, list):
        return []
    found: list[Skipped] = []
    for one in cast("list[Any]", listed)[:_most_left_out]:
        facts = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        path, reason = facts.get("path"), facts.get("reason")
        if isinstance(path, str) and isinstance(reason, str):
            found.append(Skipped(path[:_most_path_bytes], f"it is a {reason[:300]}"))
    more: Any = cast("dict[str, Any]", parsed).get("more")
    if isinstance(more, int) and more > 0:
        found.append(Skipped("...", f"and {more} more"))
    return found


def _outside() -> InvalidPath:
    return InvalidPath("The runtime named a path outside the directory that was asked for")


def _twice(path: str) -> InvalidArchive:
    return InvalidArchive(f"The archive has {path} twice")
