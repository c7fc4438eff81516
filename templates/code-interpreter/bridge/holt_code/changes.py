"""A wait for changes that other tasks make."""

import asyncio
from collections.abc import Callable


class Changes:
    """Wakes each task that waits, at each change. It keeps nothing for tasks that come later."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def fire(self) -> None:
        """Reports a change."""
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            _end(future)

    async def until(self, done: Callable[[], bool], timeout: float | None = None) -> bool:
        """Waits until `done` is true after a change. Returns false after `timeout` seconds."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        while not done():
            left = None if deadline is None else deadline - loop.time()
            if left is not None and left <= 0:
                return False
            future: asyncio.Future[None] = loop.create_future()
            timer = None if left is None else loop.call_later(left, _end, future)
            self._waiting.add(future)
            try:
                await future
            finally:
                self._waiting.discard(future)
                if timer is not None:
                    timer.cancel()
        return True


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
