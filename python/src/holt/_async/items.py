"""Streams of items: Server-Sent Events that resume after a broken connection."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Callable
from types import TracebackType
from typing import Any, Generic, TypeVar

import httpx

from .._io.async_parts import AsyncResult, sleep
from .._model import decode_item
from .._retry import backoff_secs, may_resume
from ..errors import HoltConnectionError, HoltError, Unauthenticated
from .transport import connection_error

_T = TypeVar("_T")

_good_connection_secs = 10.0
"""The age at which a connection counts as good. Its end starts a new count of breaks."""
_lost_before_start = (
    "The connection was lost before the command was known to have started; "
    "list the commands to see whether it runs"
)


class AsyncItems(Generic[_T]):
    """Items that arrive over time.

    It is an iterator, and a context manager that closes the connection at its end. An iterator
    that is read to its end closes the connection itself.
    """

    def __init__(self, items: AsyncGenerator[_T, None]) -> None:
        self._items = items

    def __repr__(self) -> str:
        """Returns the way to read it. Nothing is read yet."""
        return f"<{type(self).__name__}: loop over it>"

    def __aiter__(self) -> AsyncItems[_T]:
        return self

    async def __anext__(self) -> _T:
        return await self._items.__anext__()

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._items.aclose()

    async def __aenter__(self) -> AsyncItems[_T]:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


async def read_events(response: httpx.Response) -> AsyncGenerator[Any, None]:
    """Yields the JSON of Server-Sent Events (HTML Standard, 9.2).

    Incomplete items are not yielded.
    """
    rest = b""
    data: list[bytes] = []
    try:
        async for chunk in response.aiter_bytes():
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            for line in lines:
                line = line.rstrip(b"\r")
                if line.startswith(b"data:"):
                    data.append(line[5:].removeprefix(b" "))
                elif line == b"" and data:
                    yield json.loads(b"\n".join(data))
                    data = []
    except httpx.TransportError as error:
        raise HoltConnectionError("lost", f"The stream broke off: {error}") from error
    except ValueError as error:
        raise HoltConnectionError("lost", "The stream broke off inside an item") from error
    finally:
        await response.aclose()


async def resume_items(
    union: Any,
    open_after: Callable[[int], AsyncResult[httpx.Response]],
    *,
    cursor: int,
    resume_timeout_secs: float,
    can_reopen: Callable[[], bool] = lambda: True,
    lost_before_start: str = _lost_before_start,
) -> AsyncGenerator[Any, None]:
    """Yields the items of a stream up to and including its `end`.

    A stream that breaks is opened again after the last item, so that none is lost or repeated. It
    gives up after `resume_timeout_secs`, which allows for a restart of the service. Items of a
    type that this version does not know are left out.
    """
    breaks = 0
    broken_since = 0.0
    was_open = False
    has_ended = False
    while True:
        opened_at = time.monotonic()
        try:
            response = await open_after(cursor)
            was_open = True
            events = read_events(response)
            try:
                async for data in events:
                    if has_ended:
                        continue  # The answer is read to its end, so that its connection is used again.
                    cursor, breaks = data["cursor"], 0
                    has_ended = data["type"] == "end"
                    item = decode_item(union, data)
                    if item is not None:
                        yield item
            finally:
                await events.aclose()
            if has_ended:
                return
            failure: HoltError = HoltConnectionError("lost", "The stream ended before its last item")
        except httpx.TransportError as error:
            failure = connection_error(error, "the service")
        except HoltError as error:
            failure = error
        if has_ended:
            return
        if was_open and isinstance(failure, Unauthenticated):
            hint = "Begin again with another key."
            raise Unauthenticated("The key was revoked or has expired while the stream was open.", hint=hint) from failure
        now = time.monotonic()
        if breaks == 0 or now - opened_at > _good_connection_secs:
            breaks, broken_since = 0, now
        breaks += 1
        if not may_resume(failure) or now - broken_since > resume_timeout_secs:
            raise failure
        if not can_reopen():
            if not was_open:
                raise failure
            raise HoltConnectionError("lost", lost_before_start) from failure
        await sleep(backoff_secs(breaks))
