"""
How the Python kernel reads requests, and publishes its messages and its output.

ipykernel hands each message to a thread of its own. A run publishes four messages or more, and each
wakes that thread. Here, the thread that has a message sends it. A write waits when much of its text
was not sent, because a full queue of ZeroMQ would lose messages otherwise.
"""

import codecs
import fcntl
import os
import select
import sys
import termios
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any

import zmq
from ipykernel.iostream import CHILD, IOPubThread, OutStream
from zmq.backend import Socket
from zmq.eventloop.zmqstream import ZMQStream

MAX_MESSAGE_BYTES = 32 * 1024 * 1024
"""The limit of the bridge, which kills a kernel that sends more."""

_FLUSH_CHARS = 256 * 1024
_PIPE_BYTES = 64 * 1024
_DRAIN_SECS = 0.2
_MORE = int(zmq.SNDMORE)


class Publisher(IOPubThread):
    """Sends messages in the thread that has them, one after another."""

    def __init__(self, *args: Any, **kwargs: Any):
        self._later: deque[Sequence[Any]] = deque()
        self._is_child = False
        self._renew_lock()
        os.register_at_fork(after_in_child=self._become_child)
        super().__init__(*args, **kwargs)

    def _renew_lock(self) -> None:
        """Forgets the lock: a thread that had it does not exist in a forked process."""
        self._lock = threading.RLock()
        self._sender: int | None = None

    def _become_child(self) -> None:
        self._renew_lock()
        self._is_child = True

    def _is_master_process(self) -> bool:
        return not self._is_child

    def send_multipart(self, msg: Sequence[Any], *_args: Any, **_kwargs: Any) -> None:
        """
        Sends a message, and waits while the reader is far behind. Raises `ValueError` above the limit,
        so that the code which displays too much fails, and its variables stay.
        """
        size = sum(getattr(frame, "nbytes", None) or len(frame) for frame in msg)
        if size > MAX_MESSAGE_BYTES:
            limit = f"{MAX_MESSAGE_BYTES:,} bytes"
            raise ValueError(f"A message of {size:,} bytes is above the limit, {limit}. Write it to a file.")
        thread = threading.get_ident()
        if self._sender == thread:
            # A finalizer or a signal handler came between: its message follows the one that is sent.
            self._later.append(msg)
            return
        with self._lock:
            self._sender = thread
            try:
                self._really_send(msg)
                while self._later:
                    self._really_send(self._later.popleft())
            finally:
                self._sender = None

    def _really_send(self, msg: Sequence[Any], *_args: Any, **_kwargs: Any) -> None:
        if self._check_mp_mode() == CHILD:
            super()._really_send(msg)
        elif not self.closed:
            try:
                send_frames(self.socket, msg)
            except zmq.ZMQError as error:
                if error.errno != zmq.ENOTSOCK:  # It is closed at the end of the kernel.
                    raise

    def _setup_xpub_listener(self) -> None:
        """
        Reads no subscriptions, because a socket serves one thread at a time. They take effect with
        the next message, and their welcome is optional in the protocol.
        """


class Requests(ZMQStream):
    """
    The requests of a kernel, and its replies. Its base asks the socket for its events a dozen times
    for each request.
    """

    def on_recv(self, callback: Any, copy: bool = True) -> None:
        self._recv_callback, self._recv_copy = callback, copy
        self._look_again()

    def send_multipart(self, msg: Sequence[Any], *_args: Any, **_kwargs: Any) -> None:
        """Sends a reply. It waits for nobody, and what has come may no longer be told."""
        send_frames(self.socket, msg)
        self._look_again()

    def flush(self, *_args: Any, **_kwargs: Any) -> int:
        return 0

    def _look_again(self) -> None:
        self.io_loop.add_callback(self._handle_events, self.socket, 0)

    def _handle_events(self, fd: Any, events: Any) -> None:
        if self.socket is None or self._recv_callback is None:
            return
        with suppress(zmq.Again):
            while True:
                request = self.socket.recv_multipart(zmq.NOBLOCK, copy=self._recv_copy)
                self._run_callback(self._recv_callback, request)


class Output(OutStream):
    """
    stdout or stderr of the kernel. Output that programs write to the descriptor is complete when a
    run ends.
    """

    _unsent = 0

    def __init__(self, *args: Any, **kwargs: Any):
        self._piping = threading.Lock()
        self._renew_lock()
        os.register_at_fork(after_in_child=self._renew_lock)
        super().__init__(*args, **kwargs)

    def _renew_lock(self) -> None:
        self._flushing = threading.RLock()

    def drain(self) -> None:
        """Waits until the output that programs have written is read, for a short time."""
        until = time.monotonic() + _DRAIN_SECS
        while self._fid is not None and time.monotonic() < until:
            with self._piping:
                if not _waiting_bytes(self._fid):
                    return
            time.sleep(_DRAIN_SECS / 200)

    def _watch_pipe_fd(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        while self._should_watch:
            select.select([self._fid], [], [])
            with self._piping:
                data = os.read(self._fid, _PIPE_BYTES)
                if not data:
                    return
                if self._should_watch:
                    self.write(decoder.decode(data))

    def write(self, string: str) -> int:
        if len(string) <= _FLUSH_CHARS:
            self._write(string)
        else:
            for at in range(0, len(string), _FLUSH_CHARS):
                self._write(string[at : at + _FLUSH_CHARS])
        return len(string)

    def _write(self, string: str) -> None:
        super().write(string)
        self._unsent += len(string)
        if self._unsent >= _FLUSH_CHARS:
            self.flush()

    def flush(self) -> None:
        """Sends what was written, in this thread."""
        if self._unsent:
            self._unsent = 0
            self._flush()

    def _flush(self) -> None:
        # A timer of the publisher's thread flushes, too. Texts keep their order.
        with self._flushing:
            super()._flush()


def send_frames(socket: Any, frames: Sequence[Any]) -> None:
    """
    Sends a message of several frames, whole or not at all. Python runs handlers of signals between
    its own instructions, and a handler may raise. There are none between two frames here, and only
    the first frame can wait.
    """
    flags = [_MORE] * (len(frames) - 1) + [0]
    deque(map(Socket.send, repeat(socket), frames, flags), maxlen=0)


def _waiting_bytes(descriptor: int) -> int:
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)
