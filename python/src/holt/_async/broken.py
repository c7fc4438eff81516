"""Interrupted transfers: for how long they are retried."""

from __future__ import annotations

import time

from .._io.async_parts import sleep
from .._retry import backoff_secs, may_resume
from ..errors import HoltError


class AsyncBroken:
    """An interrupted transfer. The time for retries restarts whenever data has arrived."""

    def __init__(self, resume_timeout_secs: float) -> None:
        self._resume_timeout_secs = resume_timeout_secs
        self._breaks = 0
        self._since = 0.0

    def mended(self) -> None:
        """Records that data has arrived."""
        self._breaks = 0

    async def pause(self, failure: HoltError) -> None:
        """Waits before the next try. Raises the failure if there is no next try."""
        now = time.monotonic()
        if self._breaks == 0:
            self._since = now
        self._breaks += 1
        if not may_resume(failure) or now - self._since > self._resume_timeout_secs:
            raise failure
        await sleep(backoff_secs(self._breaks))
