"""The files of a runtime."""

from __future__ import annotations

import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .._model import decode
from .._models.file import (
    FileChanged,
    FileInfo,
    FileTransferred,
    ReplaceResult,
    SearchItem,
    SearchResult,
    TreeExtracted,
    WatchItem,
)
from .._options import FileMode, RuntimePath, Seconds, given, mode_text, path_text, seconds
from ..errors import HoltConnectionError, NotADirectory, PathNotFound
from .content import AsyncFileContent, AsyncWriting, Progress, read_content, read_version, read_whole, write_content
from .items import AsyncItems, read_events, resume_items
from .pages import AsyncPaginated
from .transport import AsyncContent, AsyncTransport, connection_error

if TYPE_CHECKING:
    import httpx

    from .._tree.local_tree import EntryFilter
    from .._tree.transfer import OnTransfer, SyncResult, TransferResult

ArchiveFormat = Literal["tar", "tar.gz"]
"""The formats of a tree as one stream."""

Glob = Sequence[str]
"""Patterns as in .gitignore. With `!` before it, a pattern leaves out. The last match decides."""


class AsyncFiles:
    """The files of one runtime. Paths are absolute paths inside it."""

    def __init__(self, transport: AsyncTransport, runtime_id: str) -> None:
        self._transport = transport
        self._runtime_id = runtime_id

    async def read(self, path: RuntimePath, *, start: int = 0, end: int | None = None) -> bytes:
        """Reads the bytes of a file, or those from `start` up to and without `end`."""
        parts = [chunk async for chunk in self.read_stream(path, start=start, end=end)]
        return b"".join(parts)

    async def read_text(self, path: RuntimePath, *, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Reads a file as text."""
        return (await self.read(path)).decode(encoding, errors)

    async def read_version(
        self, path: RuntimePath, *, start: int = 0, end: int | None = None
    ) -> tuple[bytes, str]:
        """Reads the bytes of a file with the etag of their version.

        A `write` with this etag as `if_match` overwrites nobody else's change.
        """
        return await read_version(self._transport, self._runtime_id, path_text(path), start=start, end=end)

    def read_stream(self, path: RuntimePath, *, start: int = 0, end: int | None = None) -> AsyncItems[bytes]:
        """Yields the bytes of a file as they arrive. After a broken connection it continues.

        A file that changes meanwhile is a `Conflict`.
        """
        return AsyncItems(read_content(self._transport, self._runtime_id, path_text(path), start=start, end=end))

    async def write(
        self,
        path: RuntimePath,
        content: AsyncFileContent,
        *,
        mode: FileMode | None = None,
        user: str | None = None,
        overwrite: bool = True,
        if_match: str | None = None,
        sha256: str | None = None,
        on_progress: Progress | None = None,
    ) -> FileInfo:
        """Writes a whole file or nothing. Missing parents are made.

        Content of 8 MiB or more, in memory or in a file of this machine, continues after a broken
        connection.

        Args:
            path: The file.
            content: Text, bytes, a `pathlib.Path` of this machine, or an iterable of bytes.
            mode: The mode: octal digits such as `"0644"`, or a number such as `0o644`. Default: the
                mode of an existing file stays.
            user: The owner of a new file. Default: the template's user.
            overwrite: False if an existing file is an `AlreadyExists` error.
            if_match: The etag of the version to replace, as `read_version` and `stat` have it, or
                `*` for any existing file. Another file is a `PreconditionFailed` error.
            sha256: The SHA-256 digest of the content in hexadecimal. Other bytes are refused.
            on_progress: Called with the number of bytes that were sent.
        """
        writing = AsyncWriting(
            self._transport,
            self._runtime_id,
            path_text(path),
            mode=mode_text(mode),
            user=user,
            overwrite=overwrite,
            if_match=if_match,
            sha256=sha256,
            on_progress=on_progress,
        )
        return await write_content(writing, content)

    async def copy(
        self, source: RuntimePath, destination: RuntimePath, *, recursive: bool = False, overwrite: bool = False
    ) -> FileTransferred:
        """Copies a file, or with `recursive` a tree, to exactly `destination`.

        An existing destination is an `AlreadyExists` error. With `overwrite` it is replaced, never
        merged. A directory without `recursive` is an `IsDirectory` error.
        """
        body = {
            "source": path_text(source),
            "destination": path_text(destination),
            "recursive": recursive,
            "overwrite": overwrite,
        }
        return decode(FileTransferred, await self._long_call("copyFile", body, idempotency_key=str(uuid.uuid4())))

    async def move(
        self, source: RuntimePath, destination: RuntimePath, *, overwrite: bool = False
    ) -> FileTransferred:
        """Moves a file or a tree to exactly `destination`.

        An existing destination is an `AlreadyExists` error. With `overwrite` it is replaced.
        """
        body = {"source": path_text(source), "destination": path_text(destination), "overwrite": overwrite}
        return decode(FileTransferred, await self._long_call("moveFile", body, idempotency_key=str(uuid.uuid4())))

    async def stat(self, path: RuntimePath) -> FileInfo:
        """Returns the facts about a path. Symlinks are not followed."""
        query = {"path": path_text(path)}
        return decode(FileInfo, await self._transport.call("statFile", params=self._params, query=query))

    async def exists(self, path: RuntimePath) -> bool:
        """Returns true if a path exists, even as a dangling symlink."""
        try:
            await self.stat(path)
        except (PathNotFound, NotADirectory):
            return False
        return True

    def list(
        self, path: RuntimePath, *, depth: int | None = None, limit: int | None = None
    ) -> AsyncPaginated[FileInfo]:
        """Lists a directory, sorted by path.

        Args:
            path: The directory.
            depth: The number of levels. Default: 1.
            limit: The number of entries per page. Default: 1000.
        """
        query = {"path": path_text(path), "depth": depth, "limit": limit}

        async def read_page(cursor: str | None) -> dict[str, Any]:
            return await self._transport.call("listFiles", params=self._params, query={**query, "cursor": cursor})

        return AsyncPaginated(read_page, lambda data: decode(FileInfo, data))

    async def make_directory(
        self, path: RuntimePath, *, parents: bool = True, mode: FileMode | None = None, user: str | None = None
    ) -> FileInfo:
        """Makes a directory and, unless `parents` is false, its missing parents."""
        body = given(path=path_text(path), parents=parents, mode=mode_text(mode), user=user)
        return decode(FileInfo, await self._create("makeDirectory", body))

    async def remove(self, path: RuntimePath, *, recursive: bool = False) -> None:
        """Removes a file, or with `recursive` a tree. Links are never followed."""
        await self._long_call("removeFile", {"path": path_text(path), "recursive": recursive})

    async def symlink(self, path: RuntimePath, target: RuntimePath, *, overwrite: bool = False) -> FileInfo:
        """Makes a symlink at `path` to `target`. Missing parents are made."""
        body = {"path": path_text(path), "target": path_text(target), "overwrite": overwrite}
        return decode(FileInfo, await self._create("makeSymlink", body))

    async def chmod(self, path: RuntimePath, mode: FileMode, *, recursive: bool = False) -> FileChanged:
        """Changes a mode (`"0644"` or `0o644`), with `recursive` also of everything below."""
        body = {"path": path_text(path), "mode": mode_text(mode), "recursive": recursive}
        return decode(FileChanged, await self._long_call("changeMode", body))

    async def chown(self, path: RuntimePath, user: str, *, recursive: bool = False) -> FileChanged:
        """Changes the owner to a user name, a uid, or `uid:gid`."""
        body = {"path": path_text(path), "user": user, "recursive": recursive}
        return decode(FileChanged, await self._long_call("changeOwner", body))

    async def search(
        self,
        path: RuntimePath,
        *,
        glob: str | Glob | None = None,
        content: str | Mapping[str, Any] | None = None,
        type: Literal["file", "directory", "symlink", "fifo", "socket"] | None = None,
        hidden: bool | None = None,
        respect_gitignore: bool | None = None,
        max_depth: int | None = None,
        max_results: int | None = None,
        timeout_secs: Seconds | None = None,
    ) -> SearchResult:
        """Searches a directory by name and by the content of lines.

        Args:
            path: The directory to search. With `content`, it can also be one file.
            glob: Patterns of names, as in .gitignore.
            content: The text that a line has to contain, or a mapping with `pattern`, `regex` and
                `case_sensitive`. Without it, names are searched for.
            type: Only files of this type.
            hidden: True to include names that begin with a dot. Default: false.
            respect_gitignore: True to skip .git and the names in .gitignore. Default: true.
            max_depth: The number of levels. Default: 64.
            max_results: The most matches. Default: 1000.
            timeout_secs: The time limit. The answer then has the matches so far. Default: 30.
        """
        body = _search_body(
            path, glob, content, type, hidden, respect_gitignore, max_depth, max_results, timeout_secs
        )
        return decode(SearchResult, await self._long_call("searchFiles", body))

    def search_stream(
        self,
        path: RuntimePath,
        *,
        glob: str | Glob | None = None,
        content: str | Mapping[str, Any] | None = None,
        type: Literal["file", "directory", "symlink", "fifo", "socket"] | None = None,
        hidden: bool | None = None,
        respect_gitignore: bool | None = None,
        max_depth: int | None = None,
        max_results: int | None = None,
        timeout_secs: Seconds | None = None,
    ) -> AsyncItems[SearchItem]:
        """Searches as `search` does.

        Yields each match as it is found, and `SearchEnd` at the end.
        """
        body = _search_body(
            path, glob, content, type, hidden, respect_gitignore, max_depth, max_results, timeout_secs
        )
        return AsyncItems(self._search_items(body))

    async def replace(
        self,
        pattern: str,
        replacement: str,
        *,
        path: RuntimePath | None = None,
        paths: Sequence[RuntimePath] | None = None,
        glob: str | Glob | None = None,
        hidden: bool | None = None,
        respect_gitignore: bool | None = None,
        regex: bool | None = None,
        case_sensitive: bool | None = None,
        expected_count: int | None = None,
        dry_run: bool | None = None,
    ) -> ReplaceResult:
        """Replaces a pattern in files: in `paths`, or in `path` and below it.

        Each file is replaced atomically.

        Args:
            pattern: The text, or with `regex` the regular expression (RE2), to replace.
            replacement: The new text. With `regex`, `$1` and `$name` are the groups, and `$$` is a
                dollar. Before a letter, a digit or `_` it is `${1}`: `$1x` is a group named `1x`.
                A group that does not exist is empty.
            path: A text file, or a directory whose text files are changed.
            paths: Text files, in place of `path`.
            glob: Patterns of names, as in .gitignore.
            hidden: True to include names that begin with a dot. Default: false.
            respect_gitignore: True to skip .git and the names in .gitignore. Default: true.
            regex: True if the pattern is a regular expression. Default: false.
            case_sensitive: False if capital and small letters are equal. Default: true.
            expected_count: The number of matches that must exist. Otherwise nothing changes.
            dry_run: True to count and change nothing. Default: false.
        """
        body = given(
            path=None if path is None else path_text(path),
            paths=None if paths is None else [path_text(one) for one in paths],
            glob=glob,
            hidden=hidden,
            respect_gitignore=respect_gitignore,
            pattern=pattern,
            replacement=replacement,
            regex=regex,
            case_sensitive=case_sensitive,
            expected_count=expected_count,
            dry_run=dry_run,
        )
        return decode(ReplaceResult, await self._long_call("replaceInFiles", body))

    async def edit(self, path: RuntimePath, old: str, new: str, *, expected_count: int = 1) -> ReplaceResult:
        """Replaces an exact text in one text file, atomically.

        Args:
            path: The text file.
            old: The text to replace, at most 64 KiB.
            new: The new text, at most 64 KiB.
            expected_count: The number of times that `old` must occur. Otherwise nothing changes,
                and the error is a `Conflict`.
        """
        return await self.replace(old, new, paths=[path], expected_count=expected_count)

    def archive(self, path: RuntimePath, *, format: ArchiveFormat = "tar") -> AsyncItems[bytes]:
        """Yields a directory with everything below as tar or tar.gz.

        An iterator that breaks raises an error. Its bytes are not a whole archive then.
        """
        return AsyncItems(self._archive_bytes(path_text(path), format))

    async def extract(
        self,
        path: RuntimePath,
        archive: AsyncContent | Path,
        *,
        format: ArchiveFormat | None = None,
        user: str | None = None,
        keep_owners: bool | None = None,
        overwrite: bool | None = None,
        merge: bool | None = None,
        max_entries: int | None = None,
        max_bytes: int | None = None,
    ) -> TreeExtracted:
        """Makes the directory `path` from a tar or tar.gz.

        It appears all at once, or not at all if the archive is refused or breaks. An existing path
        is an `AlreadyExists` error, unless `overwrite` or `merge` is set.

        Args:
            path: The directory.
            archive: A file of this machine, the bytes, an async iterable of bytes, or a function
                that returns one for each try.
            format: The format. Default: detected from the first bytes.
            user: The owner of the created files. Default: the template's user.
            keep_owners: True to keep owners, set-id bits and system attributes. Default: false.
            overwrite: True to replace the destination. Default: false.
            merge: True to add files to an existing directory. Default: false.
            max_entries: The most entries of the archive. Default: 200,000.
            max_bytes: The most bytes of the unpacked content. Default: the disk.
        """
        query = {
            "path": path_text(path),
            "format": format,
            "user": user,
            "keep_owners": keep_owners,
            "overwrite": overwrite,
            "merge": merge,
            "max_entries": max_entries,
            "max_bytes": max_bytes,
        }
        content = partial(read_whole, archive) if isinstance(archive, Path) else archive
        answer = await self._transport.call(
            "writeArchive",
            params=self._params,
            query=query,
            content=content,
            creates=not overwrite and not merge,
            timeout_secs=None,
        )
        return decode(TreeExtracted, answer)

    def watch(
        self, path: RuntimePath, *, recursive: bool = False, cursor: int | None = None
    ) -> AsyncItems[WatchItem]:
        """Yields the changes in a directory as they happen, until the directory is gone.

        After a broken connection it reconnects and continues after the last item. If that is too
        late, `WatchOverflow` reports that changes were lost and everything must be read again.

        Args:
            path: The directory.
            recursive: True to watch everything below as well.
            cursor: The cursor after which the items begin. Default: only new changes.
        """

        async def open_after(after: int) -> httpx.Response:
            query = {"path": path_text(path), "recursive": recursive, "cursor": None if after < 0 else after}
            return await self._transport.open_events("watchFiles", params=self._params, query=query)

        secs = self._transport.resume_timeout_secs
        start = -1 if cursor is None else cursor
        return AsyncItems(resume_items(WatchItem, open_after, cursor=start, resume_timeout_secs=secs))

    async def upload(
        self,
        local: str | PathLike[str],
        remote: RuntimePath,
        *,
        overwrite: bool = False,
        user: str | None = None,
        on_progress: OnTransfer | None = None,
    ) -> TransferResult:
        """Copies a directory of this machine to exactly `remote`.

        Modes, times, symlinks and hard links are kept. It is assembled beside the destination and
        moved into place, so a failure leaves the old content.

        Args:
            local: A directory of this machine.
            remote: The destination in the runtime.
            overwrite: True to replace the destination. It is never merged.
            user: The owner of the created entries. Default: the template's user.
            on_progress: Called for each file.
        """
        from .trees import upload_tree

        return await upload_tree(
            self, Path(local), remote, overwrite=overwrite, user=user, on_progress=on_progress
        )

    async def download(
        self,
        remote: RuntimePath,
        local: str | PathLike[str],
        *,
        overwrite: bool = False,
        on_progress: OnTransfer | None = None,
    ) -> TransferResult:
        """Copies a directory of the runtime to exactly `local`.

        Modes, times, symlinks and hard links are kept. A symlink that leads out of the tree is not
        made; its name is in `skipped`. The tree is assembled beside the destination and moved into
        place.

        Args:
            remote: A directory of the runtime.
            local: The destination on this machine.
            overwrite: True to replace the destination. It is never merged.
            on_progress: Called for each file.
        """
        from .trees import download_tree

        return await download_tree(self, remote, Path(local), overwrite=overwrite, on_progress=on_progress)

    async def sync(
        self,
        local: str | PathLike[str],
        remote: RuntimePath,
        *,
        delete: bool = False,
        keeps: EntryFilter | None = None,
        checksum: bool = False,
        dry_run: bool = False,
        user: str | None = None,
        on_progress: OnTransfer | None = None,
    ) -> SyncResult:
        """Makes the directory `remote` equal to `local` of this machine.

        Sends only entries that are new, or changed in size, time or mode. Entries that exist only
        in the runtime stay, unless `delete` is true.

        Args:
            local: A directory of this machine.
            remote: The directory in the runtime.
            delete: True to remove remote entries that do not exist here.
            keeps: Returns false for an entry to leave out, by relative path and whether it is a
                directory. An excluded directory excludes its content.
            checksum: True to compare files of the same size by SHA-256 in place of times.
            dry_run: True to compute the changes and make none.
            user: The owner of the created entries. Default: the template's user.
            on_progress: Called for each file.
        """
        from .trees import sync_tree

        return await sync_tree(
            self,
            Path(local),
            remote,
            delete=delete,
            keeps=keeps,
            checksum=checksum,
            dry_run=dry_run,
            user=user,
            on_progress=on_progress,
        )

    async def _search_items(self, body: dict[str, Any]) -> AsyncGenerator[SearchItem, None]:
        from .._model import decode_item

        response = await self._transport.open_events("searchFiles", params=self._params, json=body)
        has_ended = False
        events = read_events(response)
        try:
            async for data in events:
                has_ended = has_ended or data["type"] == "end"
                item = decode_item(SearchItem, data)
                if item is not None:
                    yield item
        finally:
            await events.aclose()
        if not has_ended:
            raise HoltConnectionError("lost", "The search broke off")

    async def _archive_bytes(self, path: str, format: ArchiveFormat) -> AsyncGenerator[bytes, None]:
        import httpx

        query = {"path": path, "format": format}
        response = await self._transport.open("readArchive", params=self._params, query=query)
        try:
            async for chunk in response.aiter_bytes():
                yield chunk
        except httpx.TransportError as error:
            raise connection_error(error, self._transport.url) from error
        finally:
            await response.aclose()

    async def _create(self, route: Any, body: dict[str, Any]) -> Any:
        key = str(uuid.uuid4())
        return await self._transport.call(route, params=self._params, json=body, idempotency_key=key)

    async def _long_call(self, route: Any, body: dict[str, Any], **request: Any) -> Any:
        return await self._transport.call(route, params=self._params, json=body, timeout_secs=None, **request)

    @property
    def _params(self) -> dict[str, str]:
        return {"runtime_id": self._runtime_id}


def _search_body(
    path: RuntimePath,
    glob: str | Glob | None,
    content: str | Mapping[str, Any] | None,
    type: str | None,
    hidden: bool | None,
    respect_gitignore: bool | None,
    max_depth: int | None,
    max_results: int | None,
    timeout_secs: Seconds | None,
) -> dict[str, Any]:
    return given(
        path=path_text(path),
        glob=glob,
        content={"pattern": content} if isinstance(content, str) else content,
        type=type,
        hidden=hidden,
        respect_gitignore=respect_gitignore,
        max_depth=max_depth,
        max_results=max_results,
        timeout_secs=None if timeout_secs is None else seconds(timeout_secs),
    )
