"""Waiting, cancellation and threads for the asynchronous client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread

_T = TypeVar("_T")

chunk_bytes = 256 * 1024
"""The bytes of a file that are read at once."""

sleep = anyio.sleep

AsyncLock = anyio.Lock

AsyncResult = Awaitable
"""The type of an answer that a caller waits for."""


def shielded(secs: float) -> AbstractContextManager[object]:
    """Returns a block that a cancellation does not interrupt. It ends by itself after `secs`."""
    return anyio.move_on_after(secs, shield=True)


async def outlast_cancel(work: Callable[[], Awaitable[_T]], grace_secs: float) -> _T:
    """Runs work to its end. A cancellation waits for that, for at most `grace_secs`."""
    results: list[_T] = []
    failures: list[Exception] = []
    scope = anyio.CancelScope(shield=True)
    ended = anyio.Event()

    async def run() -> None:
        with scope:
            try:
                results.append(await work())
            except Exception as error:  # The caller gets it below, outside of the group.
                failures.append(error)
        ended.set()

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        try:
            await ended.wait()
        finally:
            scope.deadline = anyio.current_time() + grace_secs
    if failures:
        raise failures[0]
    return results[0]


async def in_thread(work: Callable[..., _T], *arguments: Any) -> _T:
    """Runs blocking work, on local files for example, in a thread."""
    return await anyio.to_thread.run_sync(work, *arguments)


async def read_chunks(path: Path, start: int, size: int) -> AsyncIterator[bytes]:
    """Yields the bytes of a local file from `start` up to `size`."""
    async with await anyio.open_file(path, "rb") as file:
        await file.seek(start)
        left = size - start
        while left > 0:
            chunk = await file.read(min(chunk_bytes, left))
            if not chunk:
                return
            left -= len(chunk)
            yield chunk
