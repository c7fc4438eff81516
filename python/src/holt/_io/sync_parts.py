"""Waiting and files for the synchronous client."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TypeVar

_T = TypeVar("_T")

chunk_bytes = 256 * 1024
"""The bytes of a file that are read at once."""

sleep = time.sleep

Lock = threading.Lock

Result = Annotated[_T, "at once"]
"""The type of an answer, which a synchronous caller has at once."""


def shielded(secs: float) -> AbstractContextManager[object]:
    """Returns a block for work after an interrupt. The work itself has the time limit."""
    return nullcontext(secs)


def outlast_cancel(work: Callable[[], _T], grace_secs: float) -> _T:
    """Runs work to its end. Nothing cancels a synchronous call but an interrupt."""
    return work()


def in_thread(work: Callable[..., _T], *arguments: Any) -> _T:
    """Runs blocking work."""
    return work(*arguments)


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
