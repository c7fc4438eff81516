"""A WebSocket (RFC 6455) over a connection of the client."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
from wsproto.connection import Connection, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Message, Ping, TextMessage
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from .._io.async_parts import AsyncLock, shielded
from .._io.stream_errors import stream_errors
from ..errors import HoltConnectionError
from .tcp import upgrade
from .transport import AsyncTransport

_read_bytes = 64 * 1024
_silence_secs = 120.0
"""The longest silence. The service sends a ping more often."""
_write_secs = 60.0
_accept_suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass(frozen=True)
class Closed:
    """The end of a WebSocket. The code 1006 is that of a broken connection."""

    code: int
    reason: str


class AsyncWebSocket:
    """An open WebSocket. One caller receives at a time, and several may send."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._stream: Any = response.extensions["network_stream"]
        self._protocol = Connection(ConnectionType.CLIENT)
        self._sending = AsyncLock()
        self._received: deque[str | bytes | Closed] = deque()
        self._text: list[str] = []
        self._data: list[bytes] = []

    async def send(self, message: Mapping[str, Any] | bytes) -> None:
        """Sends a text frame with JSON, or a binary frame."""
        event: Message[Any]
        if isinstance(message, bytes):
            event = BytesMessage(data=message)
        else:
            event = TextMessage(data=json.dumps(message))
        await self._send(event)

    async def receive(self) -> str | bytes | Closed:
        """Returns the next message, or the end of the connection."""
        while not self._received:
            try:
                data = await self._stream.read(_read_bytes, timeout=_silence_secs)
            except stream_errors as error:
                return Closed(1006, str(error))
            try:
                self._protocol.receive_data(data or None)
                for event in self._protocol.events():
                    await self._take(event)
            except (RemoteProtocolError, LocalProtocolError) as error:
                return Closed(1006, str(error))
            if not data and not self._received:
                return Closed(1006, "the connection ended")
        return self._received.popleft()

    async def say_goodbye(self) -> None:
        """Sends a close frame. The other side then closes the connection."""
        try:
            await self._send(CloseConnection(code=1000))
        except HoltConnectionError:
            pass  # It is closed already, which is the aim.

    async def aclose(self) -> None:
        """Closes the connection."""
        await self._response.aclose()

    async def _take(self, event: Any) -> None:
        if isinstance(event, TextMessage):
            self._text.append(event.data)
            if event.message_finished:
                self._received.append("".join(self._text))
                self._text.clear()
        elif isinstance(event, BytesMessage):
            self._data.append(bytes(event.data))
            if event.message_finished:
                self._received.append(b"".join(self._data))
                self._data.clear()
        elif isinstance(event, Ping):
            await self._send(event.response())
        elif isinstance(event, CloseConnection):
            self._received.append(Closed(event.code, event.reason or ""))

    async def _send(self, event: Any) -> None:
        # A frame that is sent in part would break the connection for everybody.
        with shielded(_write_secs):
            async with self._sending:
                try:
                    await self._stream.write(self._protocol.send(event), timeout=_write_secs)
                except (LocalProtocolError, *stream_errors) as error:
                    raise HoltConnectionError("lost", "The connection is broken, so this was not sent") from error


async def open_websocket(transport: AsyncTransport, url: httpx.URL, protocol: str) -> AsyncWebSocket:
    """Opens a WebSocket at an address of the service. A refusal is the service's error."""
    key = base64.b64encode(os.urandom(16)).decode()
    headers = {
        "upgrade": "websocket",
        "sec-websocket-key": key,
        "sec-websocket-version": "13",
        "sec-websocket-protocol": protocol,
    }
    response = await upgrade(transport, url, headers)
    digest = hashlib.sha1((key + _accept_suffix).encode(), usedforsecurity=False).digest()
    if response.headers.get("sec-websocket-accept") != base64.b64encode(digest).decode():
        await response.aclose()
        raise HoltConnectionError("lost", "The WebSocket was answered by something else: is there a proxy between?")
    return AsyncWebSocket(response)
