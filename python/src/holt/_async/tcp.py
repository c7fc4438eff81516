"""Raw connections to a port: an HTTP upgrade to `tcp`."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import httpcore
import httpx

from .._io.stream_errors import stream_errors
from .._options import Seconds, seconds
from ..errors import HoltConnectionError
from .transport import AsyncTransport, error_of_response

_read_bytes = 64 * 1024


class AsyncPortConnection:
    """A raw connection to a port. As a context manager, it is closed at the end of the block."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._stream: Any = response.extensions["network_stream"]

    async def read(self, max_bytes: int = _read_bytes, *, timeout_secs: Seconds | None = None) -> bytes:
        """Returns the next bytes, at most `max_bytes`; empty at the end."""
        try:
            return await self._stream.read(max_bytes, timeout=_secs_of(timeout_secs))
        except stream_errors as error:
            raise _failure_of(error) from error

    async def write(self, data: bytes, *, timeout_secs: Seconds | None = None) -> None:
        """Sends all bytes."""
        try:
            await self._stream.write(data, timeout=_secs_of(timeout_secs))
        except stream_errors as error:
            raise _failure_of(error) from error

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._response.aclose()

    async def __aenter__(self) -> AsyncPortConnection:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()


def _failure_of(error: Exception) -> HoltConnectionError:
    if isinstance(error, httpcore.TimeoutException):
        return HoltConnectionError("timeout", "The program behind the port did not respond in time")
    return HoltConnectionError("lost", f"The connection to the port broke off: {error}")


async def open_connection(transport: AsyncTransport, url: str) -> AsyncPortConnection:
    """Opens a raw connection at an address of the service."""
    return AsyncPortConnection(await upgrade(transport, url, {"upgrade": "tcp"}))


async def upgrade(transport: AsyncTransport, url: httpx.URL | str, headers: dict[str, str]) -> httpx.Response:
    """Sends a request that changes the protocol. A refusal is the service's error."""
    sent = {"connection": "Upgrade", **headers}
    if transport.api_key is not None:
        sent["authorization"] = f"Bearer {transport.api_key}"
    response = await transport.send_raw(transport.build_raw("GET", url, headers=sent, timeout=transport.timeout_secs))
    if response.status_code == 101:
        return response
    try:
        await response.aread()
    finally:
        await response.aclose()
    if response.is_success:
        why = f"{transport.url} answers, but does not change the protocol: is there a proxy between?"
        raise HoltConnectionError("lost", why)
    raise error_of_response(response)


def _secs_of(duration: Seconds | None) -> float | None:
    return None if duration is None else seconds(duration)
