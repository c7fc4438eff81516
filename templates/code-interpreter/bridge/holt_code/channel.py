"""One channel to a kernel: a socket of ZeroMQ on the loop of asyncio."""

import asyncio
from collections import deque
from contextlib import suppress
from typing import Any

import zmq

_AHEAD = 16  # messages


class Channel:
    """
    Sends and receives messages of frames. `zmq.asyncio` asks for the events of a socket before and
    after each message. Here, one wake-up takes all messages that are there.
    """

    def __init__(self, socket: zmq.Socket[Any]):
        self._socket = socket
        self._descriptor: int = socket.getsockopt(zmq.FD)
        self._loop = asyncio.get_running_loop()
        self._taken: deque[list[bytes]] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._is_watched = False

    def send(self, frames: list[bytes]) -> None:
        """Sends a message. A kernel that has ended, or has read none of the last thousand, does not get it."""
        if self._socket.closed:
            return
        with suppress(zmq.Again):
            self._socket.send_multipart(frames, zmq.NOBLOCK)
        # A send may have taken in what had come, and its descriptor no longer tells.
        self._wake()

    async def receive(self) -> list[bytes]:
        """Returns the next message. One task at a time may wait for it."""
        while True:
            if not self._taken:
                self._take()
            if self._taken:
                return self._taken.popleft()
            self._watch(True)
            self._waiting = self._loop.create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None

    def close(self) -> None:
        self._watch(False)
        self._socket.close()

    def _readable(self) -> None:
        if self._waiting is None:
            # The descriptor stays readable until somebody reads.
            self._watch(False)
        else:
            self._wake()

    def _wake(self) -> None:
        waiting = self._waiting
        if waiting is None or waiting.done():
            return
        self._take()
        if self._taken:
            waiting.set_result(None)

    def _take(self) -> None:
        with suppress(zmq.Again):
            while len(self._taken) < _AHEAD:
                self._taken.append(self._socket.recv_multipart(zmq.NOBLOCK))

    def _watch(self, watched: bool) -> None:
        if watched == self._is_watched:
            return
        self._is_watched = watched
        if watched:
            self._loop.add_reader(self._descriptor, self._readable)
        else:
            self._loop.remove_reader(self._descriptor)
