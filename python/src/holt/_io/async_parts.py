"""Waiting, cancellation and threads for the asynchronous client."""

from __future__ import annotations

import math
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

if TYPE_CHECKING:
    import httpx

_T = TypeVar("_T")

chunk_bytes = 2**20
"""The bytes of a file that are read at once.

Each read is a step in a thread, and each piece is a task of the loop. With a quarter of the size,
an upload takes 1.6 times the CPU time of this process.
"""

sleep = anyio.sleep

AsyncLock = anyio.Lock

AsyncResult = Awaitable
"""The type of an answer that a caller waits for."""


@contextmanager
def limited(secs: float, failure: Callable[[], Exception]) -> Generator[None, None, None]:
    """Runs a block that raises `failure()` if it takes longer than `secs`."""
    with anyio.move_on_after(secs) as scope:
        yield
    if scope.cancelled_caught:
        raise failure()


def obey_limits(client: httpx.AsyncClient) -> None:
    """Does nothing: `limited` cancels any wait of a connection."""


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
    """Runs blocking work, on local files for example, in a thread.

    A cancellation waits for the end of the work, whose next read from the caller's thread fails.
    """
    from anyio import to_thread

    results: list[_T] = []

    async def run() -> None:
        results.append(await to_thread.run_sync(work, *arguments))

    # A task of asyncio that is cancelled leaves the thread to itself. A task group waits for it.
    await _together(run)
    return results[0]


async def iterate_in_thread(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yields the chunks of an iterator that blocks. Its work is done in threads."""
    while True:
        chunk = await in_thread(lambda: next(chunks, None))
        if chunk is None:
            return
        yield chunk


def from_thread(callback: Callable[[_T], object]) -> Callable[[_T], object]:
    """Returns a callback that work in a thread may call. It runs in the thread of the caller."""
    from anyio import from_thread

    return lambda value: from_thread.run_sync(callback, value)


class AsyncReader:
    """Items of bytes as a stream that blocks, for work in a thread."""

    def __init__(self, items: AsyncIterable[bytes]) -> None:
        self._items = aiter(items)
        self._left = b""

    def read(self, size: int = -1) -> bytes:
        """Returns at most `size` bytes; empty at the end."""
        from anyio import from_thread

        while not self._left:
            chunk = from_thread.run(self._next)
            if chunk is None:
                return b""
            self._left = chunk
        end = len(self._left) if size < 0 else size
        data, self._left = self._left[:end], self._left[end:]
        return data

    async def _next(self) -> bytes | None:
        # anyio cancels a read that runs when asyncio cancels the caller. A later one looks here.
        if anyio.current_effective_deadline() == -math.inf:
            raise anyio.get_cancelled_exc_class()
        return await anext(self._items, None)


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


async def run_beside(main: Callable[[], Awaitable[None]], aside: Callable[[], Awaitable[None]]) -> None:
    """Runs work, and other work beside it that ends by itself afterwards."""
    await _together(main, aside)


async def _together(*works: Callable[[], Awaitable[None]]) -> None:
    """Runs works to their ends. The first failure is raised as it is, not in a group."""
    failures: list[Exception] = []

    async def run(work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception as error:
            failures.append(error)

    async with anyio.create_task_group() as group:
        for work in works:
            group.start_soon(run, work)
    if failures:
        raise failures[0]


class AsyncPump:
    """Lets several callers wait for what one of them receives at a time."""

    def __init__(self) -> None:
        self._is_busy = False
        self._waiting: list[anyio.Event] = []

    async def until(self, is_done: Callable[[], bool], step: Callable[[], Awaitable[None]]) -> None:
        """Repeats a step until a condition holds. Only one caller takes a step at a time."""
        while not is_done():
            if self._is_busy:
                event = anyio.Event()
                self._waiting.append(event)
                await event.wait()
                continue
            self._is_busy = True
            try:
                await step()
            finally:
                self._is_busy = False
                waiting, self._waiting = self._waiting, []
                for event in waiting:
                    event.set()
