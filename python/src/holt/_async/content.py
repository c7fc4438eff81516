"""Reading and writing the content of files, with resumption after a broken connection."""

from __future__ import annotations

import base64
import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union, cast

import httpx

from .._callbacks import tell
from .._io.async_parts import chunk_bytes, in_thread, read_chunks
from .._model import decode
from .._models.file import FileInfo, Upload
from .._options import given
from ..errors import (
    ApiError,
    Conflict,
    HoltConnectionError,
    HoltError,
    Internal,
    InvalidRequest,
    Unavailable,
)
from .broken import AsyncBroken
from .transport import AsyncTransport

AsyncFileContent = Union[str, bytes, bytearray, memoryview, Path, AsyncIterable[bytes]]
"""The content of a file to write: text, bytes, a file of this machine, or an iterable of bytes."""

Progress = Callable[[int], object]
"""A callback for the number of bytes that were sent or received."""

_resumable_bytes = 8 * 1024 * 1024
"""The size from which content is sent so that it can continue after a break."""


@dataclass
class AsyncWriting:
    """The destination of content, and how it is written."""

    transport: AsyncTransport
    runtime_id: str
    path: str
    mode: str | None = None
    user: str | None = None
    overwrite: bool = True
    if_match: str | None = None
    sha256: str | None = None
    on_progress: Progress | None = None

    @property
    def params(self) -> dict[str, str]:
        return {"runtime_id": self.runtime_id}


async def read_content(
    transport: AsyncTransport,
    runtime_id: str,
    path: str,
    *,
    start: int,
    end: int | None,
    response: httpx.Response | None = None,
) -> AsyncGenerator[bytes, None]:
    """Yields the bytes of a file. After a broken connection it continues after the last byte.

    A file that was changed meanwhile is a `Conflict`, never a mixture of two versions. A file of
    unknown size (in `/proc`, for example) cannot continue. `response` is the answer, if it is open
    already.
    """
    if response is None:
        response = await _open_range(transport, runtime_id, path, start, end)
    first = start if response.status_code == 206 else 0
    length_text, etag = response.headers.get("content-length"), response.headers.get("etag")
    length = None if length_text is None else int(length_text)
    broken = AsyncBroken(transport.resume_timeout_secs)
    done = 0
    while True:
        try:
            try:
                async for chunk in response.aiter_bytes():
                    done += len(chunk)
                    broken.mended()
                    yield chunk
            except httpx.TransportError as error:
                # Silence in the middle of a file is a broken connection, too.
                raise HoltConnectionError("lost", f"The transfer broke off: {error}") from error
            finally:
                await response.aclose()
            if length is None or done >= length:
                return
            failure: HoltError = HoltConnectionError("lost", "The transfer broke off: it ended early")
        except HoltConnectionError as error:
            failure = error
        if etag is None or length is None:
            raise Unavailable("The transfer broke off, and the file cannot be read from its middle on.") from failure
        response = await _reopen(transport, runtime_id, path, _range_of(first + done, first + length), etag, broken, failure)


async def read_version(
    transport: AsyncTransport, runtime_id: str, path: str, *, start: int, end: int | None
) -> tuple[bytes, str]:
    """Reads the bytes of a file with the etag of their version."""
    response = await _open_range(transport, runtime_id, path, start, end)
    chunks = read_content(transport, runtime_id, path, start=start, end=end, response=response)
    content = b"".join([chunk async for chunk in chunks])
    etag: str | None = response.headers.get("etag")
    if etag is None:
        raise Unavailable(f"The answer for {path} has no etag.", hint="Check whether a proxy removes headers.")
    return content, etag


async def write_content(writing: AsyncWriting, content: AsyncFileContent) -> FileInfo:
    """Writes a whole file or nothing. Large content of a known size continues after a break."""
    if isinstance(content, str):
        content = content.encode()
    elif isinstance(content, (bytearray, memoryview)):
        content = bytes(content)
    if not isinstance(content, (bytes, Path)):
        if not hasattr(content, "__aiter__"):
            kind = type(content).__name__
            raise TypeError(f"The content must be text, bytes, a Path or an async iterable of bytes, not {kind}")
        return await _write_once(writing, _counting(content, 0, writing.on_progress))
    size = len(content) if isinstance(content, bytes) else await in_thread(_size_of, content)
    source = _Source(content, size)
    # After a lost answer, an upload knows whether it is complete. A plain write would find its own
    # file.
    if size >= _resumable_bytes or not writing.overwrite or writing.if_match is not None:
        return await _write_in_parts(writing, source)
    if isinstance(content, bytes) and writing.on_progress is None:
        return await _write_once(writing, content)
    return await _write_once(writing, lambda: _counting(source.chunks(0), 0, writing.on_progress))


async def read_whole(path: Path) -> AsyncIterator[bytes]:
    """Yields the bytes of a local file."""
    async for chunk in read_chunks(path, 0, await in_thread(_size_of, path)):
        yield chunk


@dataclass
class _Source:
    """Content of a known size that can be read from any byte on."""

    content: bytes | Path
    size: int

    async def chunks(self, start: int) -> AsyncIterator[bytes]:
        """Yields the bytes from `start` on."""
        if isinstance(self.content, bytes):
            for at in range(start, self.size, chunk_bytes):
                yield self.content[at : at + chunk_bytes]
            return
        async for chunk in read_chunks(self.content, start, self.size):
            yield chunk


async def _write_in_parts(writing: AsyncWriting, source: _Source) -> FileInfo:
    """Sends content from the service's offset on, until the service has all of it."""
    transport, upload_id = writing.transport, str(uuid.uuid4())
    broken = AsyncBroken(transport.resume_timeout_secs)
    offset = 0
    about = {"path": writing.path, "upload_id": upload_id}
    try:
        while True:
            start = offset
            try:
                return await _write_once(
                    writing,
                    _counting(source.chunks(start), start, writing.on_progress),
                    upload_id=upload_id,
                    offset=start,
                )
            except Conflict:
                # The offset is stale: the service was writing earlier bytes when it reported it.
                await broken.pause(HoltConnectionError("lost", "The service has other bytes than expected"))
            except HoltError as error:
                await broken.pause(error)
            upload = await _upload_status(writing, about, broken)
            if upload.completed:
                answer = await transport.call("statFile", params=writing.params, query={"path": writing.path})
                return decode(FileInfo, answer)
            if upload.offset_bytes > start:
                broken.mended()
            offset = min(upload.offset_bytes, source.size)
    except HoltError:
        try:
            await transport.run("abortUpload", params=writing.params, query=about)
        except HoltError:
            pass  # The service removes the part later. The caller needs the original failure.
        raise


async def _upload_status(writing: AsyncWriting, about: dict[str, str], broken: AsyncBroken) -> Upload:
    while True:
        try:
            return decode(Upload, await writing.transport.call("getUpload", params=writing.params, query=about))
        except HoltError as error:
            await broken.pause(error)


async def _write_once(writing: AsyncWriting, content: Any, **part: Any) -> FileInfo:
    headers = {} if writing.overwrite else {"if-none-match": "*"}
    if writing.if_match is not None:
        headers["if-match"] = writing.if_match
    if writing.sha256 is not None:
        headers["repr-digest"] = _digest(writing.sha256)
    answer = await writing.transport.call(
        "writeFile",
        params=writing.params,
        query={**given(path=writing.path, mode=writing.mode, user=writing.user), **part},
        content=content,
        headers=headers,
        timeout_secs=None,
    )
    if "upload_id" in answer:
        raise Internal("The service took a file for a part of one")
    return decode(FileInfo, answer)


async def _reopen(
    transport: AsyncTransport,
    runtime_id: str,
    path: str,
    range_: dict[str, str],
    etag: str,
    broken: AsyncBroken,
    failure: HoltError,
) -> httpx.Response:
    while True:
        await broken.pause(failure)
        try:
            response = await _open(transport, runtime_id, path, {**range_, "if-range": etag})
        except ApiError as error:
            if error.http_status != 503:
                raise
            failure = error
        except HoltConnectionError as error:
            failure = error
        else:
            if response.status_code == 206:
                return response
            await response.aclose()
            raise Conflict(f"{path} was changed while it was read")


async def _open_range(
    transport: AsyncTransport, runtime_id: str, path: str, start: int, end: int | None
) -> httpx.Response:
    is_whole = start == 0 and end is None
    return await _open(transport, runtime_id, path, {} if is_whole else _range_of(start, end))


async def _open(transport: AsyncTransport, runtime_id: str, path: str, headers: dict[str, str]) -> httpx.Response:
    return await transport.open("readFile", params={"runtime_id": runtime_id}, query={"path": path}, headers=headers)


async def _counting(chunks: AsyncIterable[bytes], start: int, on_progress: Progress | None) -> AsyncIterator[bytes]:
    done = start
    if on_progress is not None:
        tell(on_progress, done)
    async for chunk in chunks:
        yield _bytes_of(chunk)
        done += len(chunk)
        if on_progress is not None:
            tell(on_progress, done)


def _bytes_of(chunk: object) -> bytes:
    if isinstance(chunk, str):
        raise TypeError("The content yields text, not bytes. Open a file with the mode 'rb'.")
    if not isinstance(chunk, (bytes, bytearray, memoryview)):
        raise TypeError(f"The content yields {type(chunk).__name__}, not bytes")
    return cast(bytes, chunk)


def _size_of(path: Path) -> int:
    if not path.is_file() and path.exists():
        raise InvalidRequest(f"{path} is not a regular file", code="not_a_file", hint="Name a regular file.")
    return os.stat(path).st_size


def _range_of(start: int, end: int | None) -> dict[str, str]:
    return {"range": f"bytes={start}-{'' if end is None else end - 1}"}


def _digest(sha256: str) -> str:
    """Returns the digest header of RFC 9530."""
    try:
        raw = bytes.fromhex(sha256)
    except ValueError:
        raw = b""
    if len(raw) != 32:
        raise InvalidRequest("sha256 must be 64 hexadecimal digits")
    return f"sha-256=:{base64.b64encode(raw).decode()}:"
