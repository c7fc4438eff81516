"""A stream of work that its reader ends by leaving it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Generic, TypeVar

from .._io.async_parts import outlast_cancel, shielded
from .items import AsyncItems

_T = TypeVar("_T")

stop_secs = 5.0
"""The longest wait for the end of work.

After that the service or its runtime counts as unreachable.
"""
_start_grace_secs = 5.0
"""The time that a cancellation waits for the answer to a start.

Only it names the work to end.
"""


class AsyncLeftStream(AsyncItems[_T], Generic[_T]):
    """The items of work, which ends if the reader leaves early and `stops` is true."""

    def __init__(self, items: AsyncGenerator[_T, None], *, stops: bool) -> None:
        super().__init__(items)
        self._stops = stops
        self._has_started = False
        self._is_done = False

    async def __anext__(self) -> _T:
        try:
            if not self._has_started:
                return await outlast_cancel(self._next, _start_grace_secs)
            return await self._next()
        except Exception:
            self._is_done = True  # The stream has ended or failed. A failure does not end the work.
            raise
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Closes the connection. Ends the work if it has not ended, unless it is to be left."""
        is_left = not self._is_done and self._stops and self._has_started
        self._is_done = True
        with shielded(stop_secs):
            if is_left:
                await self._stop()
            await self._items.aclose()

    async def _next(self) -> _T:
        item = await self._items.__anext__()
        self._note(item)
        return item

    def _note(self, item: _T) -> None:
        """Notes the start and the end of the work."""
        raise NotImplementedError

    async def _stop(self) -> None:
        """Ends the work. Work that is gone is no failure."""
        raise NotImplementedError
