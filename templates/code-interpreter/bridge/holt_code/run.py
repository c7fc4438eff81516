"""One run of code: its output with cursors, bounded, for any number of readers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .changes import Changes
from .limits import BATCH_BYTES, BRAKE_BYTES, BRAKE_SECS, GATHER_SECS, MAX_RUN_BYTES
from .lines import Line, encode, encode_line


@dataclass(frozen=True)
class Request:
    """The code of a run, and its settings."""

    code: str
    timeout_secs: float | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])


class Part(NamedTuple):
    """Lines of a run, and whether they are its last ones."""

    text: bytes
    is_last: bool


class Run:
    """
    A run, from its start line to its end line.

    Each line has a cursor, one more than that of the line before. The last lines are kept, up to a
    limit in bytes. A reader that is further behind misses lines, and its end line has `truncated`.
    `kept` is called with each change of the kept bytes.
    """

    def __init__(self, run_id: str, context_id: str, request: Request, kept: Callable[[int], None]):
        self.run_id = run_id
        self.context_id = context_id
        self.request = request
        self.stop: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """The reason to stop the run, once there is one: `interrupted` or `timed_out`."""
        self.ended = False
        self._kept = kept
        self._lines: dict[int, bytes] = {}
        self._first = self._next = 0
        self._added = self._dropped = 0  # bytes of all lines, and of those that are not kept
        self._cut = False
        self._end: Line = {}
        self._changes = Changes()
        self._brake: _Brake | None = None
        self.add({"type": "start", "run_id": run_id, "context_id": context_id})

    def add(self, line: Line) -> None:
        """Adds a line, and drops the oldest ones above the limit. An ended run takes none."""
        if self.ended:
            return
        encoded, cut = encode_line(line, self._next)
        self._cut = self._cut or cut
        self._lines[self._next] = encoded
        self._next += 1
        self._added += len(encoded)
        self._kept(len(encoded))
        while self._added - self._dropped > MAX_RUN_BYTES:
            self.drop_oldest()
        self._changes.fire()

    def drop_oldest(self) -> bool:
        """Drops the oldest line. Returns false if there is none."""
        line = self._lines.pop(self._first, None)
        if line is None:
            return False
        self._first += 1
        self._dropped += len(line)
        self._kept(-len(line))
        return True

    def end(self, status: str, **facts: Any) -> None:
        """Ends the run. `facts` are further fields of its end line."""
        if self.ended:
            return
        self._end = {"type": "end", "status": status, **facts}
        self.ended = True
        self._changes.fire()

    def interrupt(self, reason: str = "interrupted") -> None:
        """Asks the run to stop. The first reason counts."""
        if not self.stop.done():
            self.stop.set_result(reason)
        self.release()

    async def room(self) -> None:
        """Waits while the reader that started the run is too far behind."""
        if self._brake is not None and not await self._brake.room(self._added):
            self.release()

    def release(self) -> None:
        """Lets the kernel go on, however far its reader is behind."""
        if self._brake is not None:
            self._brake.release()
            self._brake = None

    async def read(self, after: int = -1) -> AsyncGenerator[Part]:
        """
        Yields the lines after a cursor, in batches, until the end line. A line `dropped` stands for
        lines that are no longer kept.
        """
        at, missed = after + 1, False
        passed = 0 if after < 0 else None  # bytes before the next line; null if not known
        while True:
            batch = []
            if at < self._first:
                batch.append(self._gap(passed))
                missed, at, passed = True, self._first, self._dropped
            lines = self._batch(at)
            batch.extend(lines)
            at += len(lines)
            passed = None if passed is None else passed + sum(map(len, lines))
            if self.ended and at >= self._next:
                yield Part(b"".join(batch) + self._end_line(missed), is_last=True)
                return
            if batch:
                yield Part(b"".join(batch), is_last=False)
            await self._changes.until(lambda: self.ended or at < self._next)

    async def read_first(self) -> AsyncGenerator[Part]:
        """
        Yields all lines to the client that started the run. The kernel does not get far ahead of
        this reader. The lines of a short run come together.
        """
        self._brake = brake = _Brake()
        await self._changes.until(lambda: self.ended or self._added > BATCH_BYTES, GATHER_SECS)
        try:
            async with aclosing(self.read()) as parts:
                async for part in parts:
                    yield part
                    # The consumer has sent the text when it asks for the next one.
                    brake.take(len(part.text))
        finally:
            self.release()

    def _gap(self, passed: int | None) -> bytes:
        """Returns the line for dropped lines, with their bytes if the reader was at a known place."""
        size = {} if passed is None else {"dropped_bytes": self._dropped - passed}
        return encode({"type": "dropped", **size, "cursor": self._first - 1})

    def _batch(self, at: int) -> list[bytes]:
        batch: list[bytes] = []
        size = 0
        while at < self._next and size < BATCH_BYTES:
            batch.append(self._lines[at])
            size += len(self._lines[at])
            at += 1
        return batch

    def _end_line(self, missed: bool) -> bytes:
        return encode({**self._end, "truncated": self._cut or missed, "cursor": self._next})


class _Brake:
    """Makes a kernel wait for the reader that started its run."""

    def __init__(self) -> None:
        self.taken = 0  # bytes
        self._released = False
        self._changes = Changes()

    def take(self, size: int) -> None:
        """Reports that the reader has taken this many bytes."""
        self.taken += size
        self._changes.fire()

    def release(self) -> None:
        self._released = True
        self._changes.fire()

    async def room(self, added: int) -> bool:
        """
        Waits until the reader is close behind the end of the output. Returns false if the reader
        takes nothing for too long.
        """
        while not self._released and added - self.taken > BRAKE_BYTES:
            before = self.taken
            moved = await self._changes.until(lambda: self._released or self.taken != before, BRAKE_SECS)
            if not moved:
                return False
        return True
