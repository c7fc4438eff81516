"""Connections that obey the time limits of their threads. It loads httpcore, which takes time."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import httpcore
import httpx

from .thread_limits import is_limited, limit_passed, sleep, time_left

_T = TypeVar("_T")

_part_bytes = 64 * 1024
"""The bytes that are written in one step. Several steps of a slow write would each have a limit."""


def obey_limits(client: httpx.Client) -> None:
    """Makes the connections of a client obey the limits of their threads.

    httpx has no option for the network of its pools: httpcore takes it as `network_backend`.
    """
    for transport in (client._transport, *client._mounts.values()):
        pool: Any = getattr(transport, "_pool", None)
        if pool is not None:
            pool._network_backend = _LimitedBackend(pool._network_backend)


class _LimitedBackend(httpcore.NetworkBackend):
    """A network whose connections obey the limits of their threads."""

    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        return _LimitedStream(
            _limit_step(timeout, lambda left: self._backend.connect_tcp(host, port, left, local_address, socket_options))
        )

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        return _LimitedStream(
            _limit_step(timeout, lambda left: self._backend.connect_unix_socket(path, left, socket_options))
        )

    def sleep(self, seconds: float) -> None:
        sleep(seconds)


class _LimitedStream(httpcore.NetworkStream):
    """A connection whose steps obey the limits of their threads."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return _limit_step(timeout, lambda left: self._stream.read(max_bytes, left))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not is_limited():
            self._stream.write(buffer, timeout)
            return
        for at in range(0, len(buffer), _part_bytes):
            part = buffer[at : at + _part_bytes]
            _limit_step(timeout, lambda left, part=part: self._stream.write(part, left))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _LimitedStream(
            _limit_step(timeout, lambda left: self._stream.start_tls(ssl_context, server_hostname, left))
        )

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _limit_step(secs: float | None, step: Callable[[float | None], _T]) -> _T:
    """Runs a step of a connection with its own limit, or that of the thread if it is shorter."""
    if not is_limited():
        return step(secs)
    wanted = float("inf") if secs is None else secs
    left = time_left(wanted)
    try:
        return step(left)
    except httpcore.TimeoutException:
        if left < wanted:
            raise limit_passed() from None
        raise
