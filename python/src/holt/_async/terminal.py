"""Attachments to commands: their output, and for a writer their input."""

from __future__ import annotations

import json
import time
import uuid
from collections import deque
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Union

from .._bodies import PtySize, Signal, signal_name, size_body
from .._callbacks import tell
from .._io.async_parts import AsyncLock, AsyncPump, in_thread, run_beside, shielded, sleep
from .._local_terminal import LocalTerminal
from .._model import decode_item
from .._models.command import TerminalSize
from .._models.terminal import (
    AttachEnd,
    AttachInput,
    AttachServerFrame,
    AttachStart,
    AttachStream,
    TerminalDropped,
    TerminalError,
    TerminalExit,
    TerminalResize,
    TerminalWriter,
)
from .._options import Seconds
from .._retry import backoff_secs, may_resume
from ..errors import Conflict, HoltConnectionError, HoltError, Unauthenticated, error_class
from .limited_wait import limited_wait
from .transport import AsyncTransport
from .websocket import AsyncWebSocket, Closed, open_websocket

_protocol = "holt.attach.v1"
_frame_bytes = 64 * 1024
_part_bytes = 32 * 1024
_most_untaken_bytes = 128 * 1024
"""The most bytes of input in flight."""
_window_bytes = 1024 * 1024
"""The most bytes of output that the service may send before they are taken."""
_close_secs = 5.0
_revoked, _final_codes = 4401, (1008, 1009, 4401, 4409)
"""The codes after which the service refuses the same attachment."""

TerminalEvent = Union[
    TerminalDropped, TerminalWriter, TerminalResize, TerminalError, Literal["broken", "resumed"]
]
"""An event besides output: of the service, or `broken` and `resumed` of the connection."""


@dataclass
class AsyncOutputChunk:
    """Bytes of a command's output, with the cursor after them."""

    stream: Literal["stdout", "stderr"]
    data: bytes
    cursor: int


class AsyncTerminal:
    """An attachment to a command.

    It is an iterator over the output as bytes. After a broken connection it attaches again after
    the last byte. Closing it, or leaving a loop over it, does not end the command. As a context
    manager, it is closed at the end of the block.
    """

    def __init__(
        self,
        transport: AsyncTransport,
        runtime_id: str,
        command_id: str,
        *,
        cursor: int,
        write: bool,
        on_event: Callable[[TerminalEvent], object] | None,
    ) -> None:
        self.command_id = command_id
        self.size: TerminalSize | None = None
        """The size of the terminal; None if the command has none."""
        self.writing = False
        """True if this attachment writes."""
        self.exit: TerminalExit | None = None
        """The end of the command. It is known after all output has been read."""
        self._transport = transport
        self._params = {"runtime_id": runtime_id, "command_id": command_id}
        self._client = str(uuid.uuid4())
        self._on_event = on_event
        self._wants_to_write = write
        self._socket: AsyncWebSocket | None = None
        self._stream: Literal["stdout", "stderr"] = "stdout"
        self._cursor = self._taken = self._told = cursor
        self._output: deque[AsyncOutputChunk] = deque()
        self._has_begun = False
        self._is_over = False
        self._failure: HoltError | None = None
        self._receiving = AsyncPump()
        self._typing = AsyncLock()
        self._sent_bytes = self._taken_bytes = 0
        self._breaks = 0
        self._refusal: HoltError | None = None

    @staticmethod
    async def open(
        transport: AsyncTransport,
        runtime_id: str,
        command_id: str,
        *,
        cursor: int = 0,
        write: bool = False,
        takeover: bool = False,
        on_event: Callable[[TerminalEvent], object] | None = None,
    ) -> AsyncTerminal:
        """Attaches, or raises the service's error."""
        terminal = AsyncTerminal(
            transport, runtime_id, command_id, cursor=cursor, write=write or takeover, on_event=on_event
        )
        try:
            await terminal._connect(takeover)
            await terminal._until(lambda: terminal._has_begun)
        except BaseException:
            await terminal.aclose()
            raise
        return terminal

    @property
    def cursor(self) -> int:
        """The cursor after the output taken so far, from which to attach again."""
        return self._taken

    def __aiter__(self) -> AsyncTerminal:
        return self

    async def __anext__(self) -> bytes:
        chunk = await self._next_chunk()
        if chunk is None:
            raise StopAsyncIteration
        return chunk.data

    async def output(self) -> AsyncGenerator[AsyncOutputChunk, None]:
        """Yields the output with its stream. In a terminal all of it is `stdout`."""
        while True:
            chunk = await self._next_chunk()
            if chunk is None:
                return
            yield chunk

    async def wait(self, *, timeout_secs: Seconds | None = None) -> TerminalExit:
        """Drops the output that is left, and returns the end of the command.

        Args:
            timeout_secs: The time limit of the wait. After it the error is a `Timeout`. The command
                continues, and the attachment stays open. None: no limit.
        """
        with limited_wait(self.command_id, timeout_secs, "terminal"):
            while await self._next_chunk() is not None:
                pass
        if self.exit is None:
            raise Conflict("The attachment is closed.")
        return self.exit

    async def write(self, data: str | bytes) -> None:
        """Types. Returns when the command has received the data.

        Raises `Conflict` if another client writes, and `HoltConnectionError` if it is unknown
        whether the data arrived.
        """
        raw = data.encode() if isinstance(data, str) else data
        async with self._typing:
            for at in range(0, len(raw), _part_bytes):
                await self._may_type(_most_untaken_bytes)
                part = raw[at : at + _part_bytes]
                self._sent_bytes += len(part)
                await self._send(part)
            if raw:
                await self._may_type(1)

    async def eof(self) -> None:
        """Closes stdin. In a terminal it types the end-of-file character."""
        async with self._typing:
            await self._may_type(1)
            await self._send({"type": "eof"})

    async def resize(self, size: PtySize) -> None:
        """Changes the terminal's size. A refusal is a `TerminalError` event."""
        await self._send({"type": "resize", **size_body(size)})

    async def send_signal(self, signal: Signal) -> None:
        """Sends a signal to the command's process group. A refusal is a `TerminalError` event."""
        await self._send({"type": "signal", "signal": signal_name(signal)})

    async def take_over(self) -> None:
        """Requests to write from now on. A `TerminalWriter` event follows."""
        self._wants_to_write = True
        await self._send({"type": "write", "takeover": True})

    async def interact(self) -> TerminalExit | None:
        """Connects the terminal of this process until the command ends, and returns its end.

        Keys go to the command, its output goes to stdout, and changes of the window's size are
        passed on. The key Ctrl-] ends the connection; the command continues, and the answer is
        None.
        """
        local = LocalTerminal()
        with local:
            try:
                await run_beside(lambda: self._show(local), lambda: self._type(local))
            finally:
                local.stop()
        return self.exit

    async def aclose(self) -> None:
        """Closes the attachment. The command continues."""
        self._is_over = True
        socket, self._socket = self._socket, None
        if socket is None:
            return
        with shielded(_close_secs):
            await socket.say_goodbye()
            await socket.aclose()

    async def __aenter__(self) -> AsyncTerminal:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _show(self, local: LocalTerminal) -> None:
        try:
            async for data in self:
                await in_thread(local.write, data)
        finally:
            local.stop()

    async def _type(self, local: LocalTerminal) -> None:
        """Passes keys and sizes on. The escape key, and a failure, end the output as well."""
        try:
            while (keys := await in_thread(local.read)) is not None:
                size = local.new_size()
                if local.escape in keys:
                    await self.aclose()
                    return
                if size is not None and not self._is_over:
                    await self.resize(size)
                if keys and not self._is_over:
                    await self.write(keys)
        except BaseException:
            await self.aclose()
            raise

    async def _next_chunk(self) -> AsyncOutputChunk | None:
        await self._until(lambda: len(self._output) > 0)
        if not self._output:
            return None
        chunk = self._output.popleft()
        self._taken = chunk.cursor
        await self._tell_taken()
        return chunk

    async def _may_type(self, most_untaken_bytes: int) -> None:
        """Waits until this attachment writes, with less than so many bytes in flight."""
        breaks, untaken = self._breaks, self._sent_bytes - self._taken_bytes
        await self._until(
            lambda: not self._wants_to_write
            or self._refusal is not None
            or self._breaks > breaks
            or (self.writing and self._sent_bytes - self._taken_bytes < most_untaken_bytes)
        )
        refusal, self._refusal = self._refusal, None
        if refusal is not None:
            raise refusal
        if not self._wants_to_write:
            raise _only_watches()
        if self._is_over:
            raise Conflict("The attachment is closed.")
        if self._breaks > breaks and untaken > 0:
            raise HoltConnectionError("lost", "The connection broke: whether this was typed is not known")

    async def _until(self, is_done: Callable[[], bool]) -> None:
        """Receives frames until a condition holds, or the attachment is over."""
        await self._receiving.until(lambda: self._is_over or is_done(), self._receive)
        if self._failure is not None and not is_done():
            raise self._failure

    async def _receive(self) -> None:
        socket = self._socket
        if socket is None:
            await self._resume()
            return
        message = await socket.receive()
        if isinstance(message, Closed):
            await self._closed(socket, message)
        elif isinstance(message, bytes):
            self._cursor += len(message)
            self._output.append(AsyncOutputChunk(self._stream, message, self._cursor))
        else:
            await self._heed(decode_item(AttachServerFrame, json.loads(message)))

    async def _heed(self, frame: object) -> None:
        if isinstance(frame, AttachStart):
            self.size, self._cursor, self._has_begun = frame.pty, frame.cursor, True
        elif isinstance(frame, AttachStream):
            self._stream = frame.stream
        elif isinstance(frame, AttachInput):
            self._taken_bytes = frame.taken_bytes
        elif isinstance(frame, TerminalExit):
            self.exit = frame
        elif isinstance(frame, AttachEnd):
            await self.aclose()
        elif isinstance(frame, (TerminalDropped, TerminalResize, TerminalError, TerminalWriter)):
            await self._note(frame)
            self._tell(frame)

    async def _note(self, event: TerminalDropped | TerminalResize | TerminalError | TerminalWriter) -> None:
        if isinstance(event, TerminalDropped):
            await self._skip_to(event.cursor)
        elif isinstance(event, TerminalResize):
            self.size = TerminalSize(cols=event.cols, rows=event.rows)
        elif isinstance(event, TerminalWriter):
            self.writing = self._wants_to_write = event.writing
        elif event.about == "input":
            self._refusal = error_class(event.code, 400)(event.message)

    async def _skip_to(self, cursor: int) -> None:
        """Counts lost output as taken, with the bytes before it.

        The window does not open otherwise.
        """
        self._cursor = cursor
        if self._output:
            self._output[-1].cursor = cursor
            return
        self._taken = cursor
        await self._tell_taken()

    async def _closed(self, socket: AsyncWebSocket, closed: Closed) -> None:
        await socket.aclose()
        if self._is_over:
            return
        self._socket = None
        self.writing = False
        lost = HoltConnectionError("lost", f"The attachment was closed: {closed.reason or closed.code}")
        if closed.code in _final_codes:
            self._failure = Unauthenticated("The key is no longer valid.") if closed.code == _revoked else lost
            self._is_over = True
            return
        self._breaks += 1
        self._tell("broken")

    async def _resume(self) -> None:
        """Attaches again after the last byte, until that has failed for too long."""
        since, tries = time.monotonic(), 0
        while not self._is_over:
            tries += 1
            await sleep(backoff_secs(tries))
            try:
                await self._connect(False)
            except HoltError as error:
                if may_resume(error) and time.monotonic() - since < self._transport.resume_timeout_secs:
                    continue
                self._failure, self._is_over = error, True
                return
            self._tell("resumed")
            return

    async def _connect(self, takeover: bool) -> None:
        window = max(_frame_bytes, _window_bytes - (self._cursor - self._taken))
        query = {"cursor": self._cursor, "client": self._client, "window": window}
        if self._wants_to_write:
            query["write"] = True
        if takeover:
            query["takeover"] = True
        url = self._transport.address_of("attachCommand", self._params, query)
        socket = await open_websocket(self._transport, url, _protocol)
        self._stream = "stdout"
        self._sent_bytes = self._taken_bytes = 0
        self._refusal = None
        self._socket = socket
        self._told = self._cursor - _window_bytes  # So that what was taken before is told at once.
        await self._tell_taken()

    async def _tell_taken(self) -> None:
        """Acknowledges taken output, a few times for each window."""
        if self._taken - self._told < _window_bytes // 4 or self._socket is None:
            return
        self._told = self._taken
        try:
            await self._socket.send({"type": "taken", "cursor": self._taken})
        except HoltConnectionError:
            pass  # The next receive finds the end of the connection.

    async def _send(self, message: dict[str, object] | bytes) -> None:
        if self._is_over:
            raise self._failure or Conflict("The attachment is closed.")
        if self._socket is None:
            raise HoltConnectionError("lost", "The connection is broken, so this was not sent")
        await self._socket.send(message)

    def _tell(self, event: TerminalEvent) -> None:
        if self._on_event is not None:
            tell(self._on_event, event)


def _only_watches() -> Conflict:
    return Conflict(
        "This attachment only watches: another client writes, or it did not ask to write.",
        hint="Take over: terminal.take_over(), or attach with takeover.",
    )
