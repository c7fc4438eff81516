"""Time limits: of whole answers, of waits for commands, and of blocks inside blocks."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from holt import AsyncHolt, AsyncRuntime, HoltConnectionError
from holt._io.async_parts import limited, shielded, sleep
from holt._model import decode
from holt.errors import Timeout
from holt.models import RuntimeData

from scripted import talking

pytestmark = pytest.mark.anyio

PARTS = 1_000
"""The parts of a slow answer. It is complete after 20 seconds, and right without a time limit."""
PART_SECS = 0.02


def send_headers_slowly(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    for _ in range(PARTS):
        time.sleep(PART_SECS)
        connection.sendall(b"x-part: 1\r\n")
    connection.sendall(b"content-length: 2\r\n\r\n{}")


def send_body_slowly(connection: socket.socket) -> None:
    connection.recv(65_536)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n{}" % (PARTS + 2))
    for _ in range(PARTS):
        time.sleep(PART_SECS)
        connection.sendall(b" ")


def read_slowly(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    for _ in range(PARTS):
        time.sleep(PART_SECS)
        connection.recv(16_384)
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")


Talk = Callable[[socket.socket], None]


@pytest.mark.parametrize(
    ("talk", "sent_bytes"), [(send_headers_slowly, 1), (send_body_slowly, 1), (read_slowly, 64 * 2**20)]
)
async def test_the_time_limit_of_a_request_to_a_port_is_that_of_the_whole_answer(talk: Talk, sent_bytes: int) -> None:
    with talking(talk) as url:
        async with AsyncHolt(url, "k") as holt:
            ports = AsyncRuntime(holt._transport, decode(RuntimeData, {"runtime_id": "rt1", "ports": []})).ports
            with pytest.raises(HoltConnectionError) as caught:
                await ports.request(8080, method="POST", content=bytes(sent_bytes), timeout_secs=0.3)
    assert caught.value.reason == "timeout"


@pytest.mark.parametrize("talk", [send_headers_slowly, send_body_slowly])
@pytest.mark.parametrize("is_proxied", [False, True])
async def test_the_time_limit_is_that_of_the_whole_answer(
    talk: Talk, is_proxied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with talking(talk) as url:
        monkeypatch.setenv("http_proxy", url)
        async with AsyncHolt("http://holt.example.com" if is_proxied else url, "k", timeout_secs=0.3) as holt:
            with pytest.raises(HoltConnectionError) as caught:
                await holt.whoami()
    assert caught.value.reason == "timeout"


async def test_a_wait_that_takes_too_long_leaves_the_command(runtime: AsyncRuntime) -> None:
    command = await runtime.commands.start("echo begun; read line; echo $line", stdin=True)
    with pytest.raises(Timeout, match=r"has not ended after 0\.3 s") as caught:
        await command.wait(timeout_secs=timedelta(milliseconds=300))
    assert caught.value.details == {"command_id": command.command_id}
    await command.write_stdin("more\n")
    assert (await command.wait(timeout_secs=60)).stdout == "begun\nmore\n"


async def test_a_terminal_is_used_after_a_wait_that_took_too_long(runtime: AsyncRuntime) -> None:
    told: list[object] = []
    command = await runtime.commands.start(["cat"], pty=(80, 24))
    async with await command.attach(write=True, on_event=told.append) as terminal:
        for _ in range(2):
            with pytest.raises(Timeout, match="has not ended"):
                await terminal.wait(timeout_secs=0.2)
        await terminal.write("\x04")
        assert (await terminal.wait(timeout_secs=timedelta(minutes=1))).exit_code == 0
    assert "broken" not in told


async def test_the_shortest_of_several_limits_holds() -> None:
    with pytest.raises(LookupError):
        with limited(0.01, LookupError), limited(60, ArithmeticError):
            await sleep(60)
    with pytest.raises(LookupError):
        with limited(60, ArithmeticError), limited(0.01, LookupError):
            await sleep(60)
    with limited(60, LookupError):
        await sleep(0.01)


async def test_no_limit_ends_a_block_that_is_shielded() -> None:
    steps: list[str] = []
    with pytest.raises(LookupError):
        with limited(0.01, LookupError):
            with shielded(60):
                await sleep(0.05)
                steps.append("after the limit")
            await sleep(60)
    assert steps == ["after the limit"]
