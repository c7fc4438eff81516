"""Writing to the stdin of a command."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from .._io.async_parts import AsyncLock, sleep
from .._retry import backoff_secs
from ..errors import ApiError, Conflict, HoltConnectionError, HoltError
from .transport import AsyncTransport

_max_write_bytes = 768 * 1024
"""The most bytes of one write. As base64 they are the most that the service takes at once."""


class AsyncStdinWriter:
    """Writes to a command's stdin in the order of the calls.

    Every write has an offset, so a write whose answer was lost is sent again and takes effect
    once. Only one writer may be active, because it counts its own bytes.
    """

    def __init__(self, transport: AsyncTransport, params: Mapping[str, str], offset: int | None) -> None:
        self._transport = transport
        self._params = params
        self._offset = offset
        self._turn = AsyncLock()

    async def write(self, data: bytes, *, eof: bool) -> None:
        """Writes all data, at the speed of the command."""
        async with self._turn:
            # A write that fails or is cancelled may have arrived. The next one then asks for the
            # offset, because the service takes other data at an old offset for a repetition.
            at, self._offset = self._offset, None
            try:
                if at is None:
                    at = await self._send(b"", eof=False, offset=None)
                while True:
                    piece = data[:_max_write_bytes]
                    reached = await self._send(piece, eof=eof and len(piece) == len(data), offset=at)
                    taken = reached - at
                    if not 0 <= taken <= len(piece):
                        raise Conflict("Something else writes to the command's stdin as well")
                    at, data = reached, data[taken:]
                    if not data:
                        self._offset = at
                        return
            except ApiError as error:
                if error.http_status < 500:
                    self._offset = at  # A refused write has not arrived.
                raise

    async def _send(self, data: bytes, *, eof: bool, offset: int | None) -> int:
        """Repeats one write until it is answered, and returns the offset of the next write."""
        body: dict[str, Any] = {"data": b64encode(data).decode(), "encoding": "base64", "eof": eof}
        if offset is not None:
            body["offset"] = offset
        since = time.monotonic()
        tries = 0
        while True:
            tries += 1
            try:
                answer = await self._transport.call("writeStdin", params=self._params, json=body)
                return answer["offset"]
            except HoltError as error:
                if not _may_repeat(error) or time.monotonic() - since > self._transport.resume_timeout_secs:
                    raise
            await sleep(backoff_secs(tries))


def _may_repeat(error: HoltError) -> bool:
    """Returns true if the answer was lost, or the service or the runtime is not available now."""
    if isinstance(error, ApiError):
        return error.http_status in (503, 504)
    return isinstance(error, HoltConnectionError)
