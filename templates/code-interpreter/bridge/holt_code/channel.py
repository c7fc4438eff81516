"""
One channel to a kernel: a connection that speaks ZMTP 3.0, the protocol of ZeroMQ's sockets
(https://rfc.zeromq.org/spec/23/), as a DEALER or a SUB.

libzmq reads and writes in a thread of its own, and asks the kernel some twenty times for each
message: for the process id, for signals between the threads, and for what can be sent. In gVisor,
those calls took more time than the run.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from .limits import MAX_MESSAGE_BYTES, MAX_MESSAGE_FRAMES, MAX_UNREAD_BYTES, MIB

_GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
_MORE, _LONG, _COMMAND = 1, 2, 4
_MAX_COMMAND_BYTES = 64 * 1024
_FRAME_OVERHEAD_BYTES = 64
_CHUNK_BYTES = 256 * 1024
_MAX_WAITING_BYTES = 64 * 1024 * 1024
_RETRY_SECS = 0.03

Address = str | tuple[str, int]
"""The path of a Unix socket, or a host and a port."""


class Channel:
    """
    Sends and receives messages of frames. It connects as soon as the kernel listens. What it has read
    and nobody has received is at most `MAX_UNREAD_BYTES + MAX_MESSAGE_BYTES`, and one chunk.
    """

    def __init__(
        self,
        address: Address,
        kind: str,
        ahead: int | None,
        *,
        on_fault: Callable[[str], None] = lambda fault: None,
        on_full: Callable[[], None] = lambda: None,
    ):
        """
        `kind` is DEALER or SUB. `ahead` are the messages that are read before somebody asks, if there
        is a limit beside that of their bytes. `on_fault` is called with what the kernel did against
        the protocol or its limits. `on_full` is called when reading stops at a limit.
        """
        self._address = address
        self._kind = kind
        self._ahead = ahead
        self._on_fault = on_fault
        self._on_full = on_full
        self._unread = 0  # bytes
        self._loop = asyncio.get_running_loop()
        self._socket: socket.socket | None = None
        self._incoming = _Incoming()
        self._outgoing = bytearray()
        self._messages: deque[list[bytes]] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._is_ready = self._is_reading = self._is_writing = False
        self._connecting = self._loop.create_task(self._connect())

    def send(self, frames: list[bytes]) -> None:
        """Sends a message. A kernel that reads nothing for long does not get it."""
        if len(self._outgoing) <= _MAX_WAITING_BYTES:
            self._outgoing += encode(frames)
            if self._is_ready:
                self._write()

    async def receive(self) -> list[bytes]:
        """Returns the next message. One task at a time may wait for it."""
        while not self._messages:
            self._read_on()
            self._waiting = self._loop.create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        message = self._messages.popleft()
        self._unread -= _size(message)
        return message

    def close(self) -> None:
        self._connecting.cancel()
        made, self._socket = self._socket, None
        if made is not None:
            self._loop.remove_reader(made)
            self._loop.remove_writer(made)
            made.close()

    async def _connect(self) -> None:
        while self._socket is None:
            made = socket.socket(socket.AF_UNIX if isinstance(self._address, str) else socket.AF_INET)
            made.setblocking(False)
            try:
                await self._loop.sock_connect(made, self._address)
            except OSError:
                made.close()
                await asyncio.sleep(_RETRY_SECS)
            except BaseException:
                made.close()
                raise
            else:
                self._socket = made
        if made.family == socket.AF_INET:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked, self._outgoing = self._outgoing, bytearray(_GREETING + _ready(self._kind))
        self._write()
        # Messages follow when the kernel is ready, too.
        self._outgoing += (encode([b"\x01"]) if self._kind == "SUB" else b"") + asked
        self._read_on()

    def _read_on(self) -> None:
        if self._socket is not None and not self._is_reading:
            self._is_reading = True
            self._loop.add_reader(self._socket, self._readable)

    def _readable(self) -> None:
        made = self._socket
        if made is None:
            return
        is_full = self._is_full()
        data = b""
        if not is_full:
            with suppress(BlockingIOError, OSError):
                data = made.recv(_CHUNK_BYTES)
        if not data:
            # Somebody has to ask first, or the kernel has closed its side and sends nothing more.
            self._is_reading = False
            self._loop.remove_reader(made)
            if is_full:
                self._on_full()
            return
        try:
            messages = self._incoming.take(data)
        except ValueError as error:  # The code in a kernel can send anything.
            self.close()
            self._on_fault(str(error))
            return
        self._messages.extend(messages)
        self._unread += sum(map(_size, messages))
        if self._incoming.is_ready and not self._is_ready:
            self._is_ready = True
            self._write()
        if self._messages and self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _is_full(self) -> bool:
        if not self._incoming.is_ready:
            return False
        return self._unread >= MAX_UNREAD_BYTES or (self._ahead is not None and len(self._messages) >= self._ahead)

    def _write(self) -> None:
        made = self._socket
        if made is None:
            return
        with suppress(BlockingIOError, OSError):  # The end of a kernel is told elsewhere.
            while self._outgoing:
                del self._outgoing[: made.send(self._outgoing)]
        if bool(self._outgoing) == self._is_writing:
            return
        self._is_writing = bool(self._outgoing)
        if self._is_writing:
            self._loop.add_writer(made, self._write)
        else:
            self._loop.remove_writer(made)


class _Incoming:
    """
    Messages from the bytes that a peer sends. It raises `ValueError` for what is not the protocol, and
    for a message above the limits as soon as the size of its frame is known.
    """

    def __init__(self) -> None:
        self.is_ready = False
        self._buffer = bytearray()
        self._is_greeted = False
        self._parts: list[bytes] = []
        self._parts_size = 0  # bytes

    def take(self, data: bytes) -> list[list[bytes]]:
        """Returns the messages that are complete with further bytes."""
        self._buffer += data
        if not self._is_greeted and not self._greet():
            return []
        messages: list[list[bytes]] = []
        at = 0
        while (frame := self._frame(at)) is not None:
            flags, start, end = frame
            at = end
            body = bytes(memoryview(self._buffer)[start:end])
            if flags & _COMMAND:
                self._command(body)
                continue
            if not self.is_ready:
                raise ValueError("sent a message before it was ready")
            self._parts.append(body)
            self._parts_size += len(body)
            if not flags & _MORE:
                messages.append(self._parts)
                self._parts, self._parts_size = [], 0
        del self._buffer[:at]
        return messages

    def _greet(self) -> bool:
        if len(self._buffer) < len(_GREETING):
            return False
        greeting = self._buffer[: len(_GREETING)]
        if greeting[0] != 0xFF or greeting[9] != 0x7F or greeting[10] < 3 or greeting[12:32] != _GREETING[12:32]:
            raise ValueError("does not speak ZMTP 3")
        del self._buffer[: len(_GREETING)]
        self._is_greeted = True
        return True

    def _frame(self, at: int) -> tuple[int, int, int] | None:
        """Returns the flags of the frame at a place, and its beginning and end. Null if it is incomplete."""
        buffer, left = self._buffer, len(self._buffer) - at
        if left < 2:
            return None
        flags = buffer[at]
        if flags & ~(_MORE | _LONG | _COMMAND):
            raise ValueError("sent a frame with unknown flags")
        if not flags & _LONG:
            start, size = at + 2, buffer[at + 1]
        elif left < 9:
            return None
        else:
            start, size = at + 9, int.from_bytes(buffer[at + 1 : at + 9], "big")
        self._check(flags, size)
        return (flags, start, start + size) if len(buffer) >= start + size else None

    def _check(self, flags: int, size: int) -> None:
        if flags & _COMMAND:
            if size > _MAX_COMMAND_BYTES:
                raise ValueError(f"sent a command of more than {_MAX_COMMAND_BYTES} bytes")
        elif self._parts_size + size > MAX_MESSAGE_BYTES:
            raise ValueError(f"sent a message of more than {MAX_MESSAGE_BYTES // MIB} MiB, which is the limit")
        elif len(self._parts) >= MAX_MESSAGE_FRAMES:
            raise ValueError(f"sent a message of more than {MAX_MESSAGE_FRAMES} frames, which is the limit")

    def _command(self, body: bytes) -> None:
        if body.startswith(b"\x05READY"):
            self.is_ready = True
        elif body.startswith(b"\x05ERROR"):
            raise ValueError("refuses the connection")


def encode(frames: list[bytes]) -> bytes:
    """Returns a message of frames as it is sent."""
    last = len(frames) - 1
    return b"".join(_head(_MORE if at < last else 0, len(frame)) + frame for at, frame in enumerate(frames))


def _size(frames: list[bytes]) -> int:
    return sum(map(len, frames)) + _FRAME_OVERHEAD_BYTES * len(frames)


def _head(flags: int, size: int) -> bytes:
    return bytes((flags, size)) if size < 256 else bytes((flags | _LONG,)) + size.to_bytes(8, "big")


def _ready(kind: str) -> bytes:
    body = b"\x05READY" + _property("Socket-Type", kind) + _property("Identity", "")
    return _head(_COMMAND, len(body)) + body


def _property(name: str, value: str) -> bytes:
    return bytes((len(name),)) + name.encode() + len(value).to_bytes(4, "big") + value.encode()
