"""Waiting and files for the synchronous client."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from .thread_limits import limited as limited
from .thread_limits import sleep as sleep
from .thread_limits import unlimited, wait_for

if TYPE_CHECKING:
    import httpx

_T = TypeVar("_T")

chunk_bytes = 256 * 1024
"""The bytes of a file that are read at once."""

Lock = threading.Lock

Result = Annotated[_T, "at once"]
"""The type of an answer, which a synchronous caller has at once."""


def obey_limits(client: httpx.Client) -> None:
    """Makes the connections of a client obey the limits of their threads."""
    from .limited_network import obey_limits

    obey_limits(client)


def shielded(secs: float) -> AbstractContextManager[object]:
    """Returns a block that no limit around it ends. Its work has time limits of its own."""
    return unlimited()


def outlast_cancel(work: Callable[[], _T], grace_secs: float) -> _T:
    """Runs work to its end. Nothing cancels a synchronous call but an interrupt."""
    return work()


def in_thread(work: Callable[..., _T], *arguments: Any) -> _T:
    """Runs blocking work."""
    return work(*arguments)


def iterate_in_thread(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the chunks of an iterator."""
    return chunks


def from_thread(callback: Callable[[_T], object]) -> Callable[[_T], object]:
    """Returns the callback. All work is done in the thread of the caller."""
    return callback


class Reader:
    """Items of bytes as a stream that blocks."""

    def __init__(self, items: Iterable[bytes]) -> None:
        self._items = iter(items)
        self._left = b""

    def read(self, size: int = -1) -> bytes:
        """Returns at most `size` bytes; empty at the end."""
        while not self._left:
            chunk = next(self._items, None)
            if chunk is None:
                return b""
            self._left = chunk
        end = len(self._left) if size < 0 else size
        data, self._left = self._left[:end], self._left[end:]
        return data


def read_chunks(path: Path, start: int, size: int) -> Iterator[bytes]:
    """Yields the bytes of a local file from `start` up to `size`."""
    with path.open("rb") as file:
        file.seek(start)
        left = size - start
        while left > 0:
            chunk = file.read(min(chunk_bytes, left))
            if not chunk:
                return
            left -= len(chunk)
            yield chunk


def run_beside(main: Callable[[], None], aside: Callable[[], None]) -> None:
    """Runs work, and other work beside it that ends by itself afterwards."""
    failures: list[Exception] = []

    def run() -> None:
        try:
            aside()
        except Exception as error:  # The caller gets it below, in its own thread.
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    main()
    thread.join()
    if failures:
        raise failures[0]


class Pump:
    """Lets several threads wait for what one of them receives at a time."""

    def __init__(self) -> None:
        self._is_busy = False
        self._changed = threading.Condition()

    def until(self, is_done: Callable[[], bool], step: Callable[[], None]) -> None:
        """Repeats a step until a condition holds. Only one thread takes a step at a time."""
        while True:
            with self._changed:
                wait_for(self._changed, lambda: not self._is_busy or is_done())
                if is_done():
                    return
                self._is_busy = True
            try:
                step()
            finally:
                with self._changed:
                    self._is_busy = False
                    self._changed.notify_all()
