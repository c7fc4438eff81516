"""The connection to a kernel, against sockets of libzmq and against anything else."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from pathlib import Path

import pytest
import zmq
from holt_code.channel import Channel, _Incoming, encode
from holt_code.connection import is_heavy
from holt_code.limits import MAX_MESSAGE_BYTES, MAX_MESSAGE_FRAMES, MAX_UNREAD_BYTES
from hypothesis import given
from hypothesis import strategies as st

SIZES = [0, 1, 255, 256, 300_000]
messages = st.lists(st.lists(st.binary(max_size=400), min_size=1, max_size=4), max_size=6)

GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
READY = b"\x04\x06\x05READY"


@pytest.mark.parametrize("transport", ["ipc", "tcp"])
def test_messages_reach_a_socket_of_libzmq_and_come_back(transport: str, tmp_path: Path) -> None:
    async def talk() -> None:
        context = zmq.Context()
        address: str | tuple[str, int] = str(tmp_path / "shell")
        channel: Channel | None = None
        router = context.socket(zmq.ROUTER)
        try:
            if transport == "ipc":
                # It is asked before anybody listens.
                channel = Channel(address, "DEALER", 16)
                channel.send([b"early"])
                await asyncio.sleep(0.1)
                router.bind(f"ipc://{address}")
            else:
                address = ("127.0.0.1", router.bind_to_random_port("tcp://127.0.0.1"))
                channel = Channel(address, "DEALER", None)
                channel.send([b"early"])
            identity, early = await asyncio.to_thread(router.recv_multipart)
            assert early == b"early"
            for size in SIZES:
                sent = [b"x" * size, b"", b"y" * size]
                channel.send(sent)
                got = await asyncio.wait_for(asyncio.to_thread(router.recv_multipart), 20)
                assert got == [identity, *sent]
                router.send_multipart([identity, *sent])
                assert await asyncio.wait_for(channel.receive(), 20) == sent
        finally:
            if channel is not None:
                channel.close()
            context.destroy(linger=0)

    asyncio.run(talk())


def test_a_subscriber_gets_all_messages_in_order_and_makes_the_sender_wait(tmp_path: Path) -> None:
    async def follow() -> None:
        context = zmq.Context()
        publisher = context.socket(zmq.XPUB)
        publisher.sndhwm = 16
        publisher.setsockopt(zmq.XPUB_NODROP, 1)
        publisher.bind(f"ipc://{tmp_path / 'iopub'}")
        channel = Channel(str(tmp_path / "iopub"), "SUB", 16)
        try:
            assert await asyncio.to_thread(publisher.recv) == b"\x01"

            def publish() -> None:
                for number in range(300):
                    publisher.send_multipart([b"stream", str(number).encode(), b"z" * 50_000])

            sending = asyncio.create_task(asyncio.to_thread(publish))
            await asyncio.sleep(0.3)
            assert not sending.done()
            for number in range(300):
                topic, text, _ = await asyncio.wait_for(channel.receive(), 20)
                assert (topic, text) == (b"stream", str(number).encode())
            await sending
        finally:
            channel.close()
            context.destroy(linger=0)

    asyncio.run(follow())


@given(messages, st.lists(st.integers(1, 97), min_size=1, max_size=8))
def test_messages_are_the_same_in_pieces_of_any_size(sent: list[list[bytes]], sizes: list[int]) -> None:
    stream = GREETING + READY + b"".join(encode(frames) for frames in sent)
    incoming = _Incoming()
    received: list[list[bytes]] = []
    at = turn = 0
    while at < len(stream):
        size = sizes[turn % len(sizes)]
        received.extend(incoming.take(stream[at : at + size]))
        at, turn = at + size, turn + 1
    assert incoming.is_ready and received == sent


@given(st.lists(st.binary(max_size=80), max_size=8), st.booleans())
def test_any_bytes_are_messages_or_a_violation(pieces: list[bytes], greets: bool) -> None:
    incoming = _Incoming()
    with contextlib.suppress(ValueError):
        for piece in [GREETING + READY if greets else b"", *pieces]:
            incoming.take(piece)


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH\r\n" * 8, GREETING + b"\xf0\x00", GREETING + b"\x04\x06\x05ERROR", b""])
def test_a_peer_of_another_kind_is_left(said: bytes, tmp_path: Path) -> None:
    async def meet() -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(tmp_path / "peer"))
            listening.listen(1)
            channel = Channel(str(tmp_path / "peer"), "DEALER", 16)
            peer, _ = await asyncio.to_thread(listening.accept)
            with peer:
                peer.settimeout(20)
                peer.sendall(said)
                if not said:
                    peer.shutdown(socket.SHUT_WR)
                waiting = asyncio.create_task(channel.receive())
                await asyncio.sleep(0.2)
                assert not waiting.done()
                channel.send([b"to nobody"])
                waiting.cancel()
                channel.close()
                while await asyncio.to_thread(peer.recv, 4096):
                    pass

    asyncio.run(meet())


def head(flags: int, size: int) -> bytes:
    return bytes([flags | 2]) + size.to_bytes(8, "big")


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (READY + head(0, MAX_MESSAGE_BYTES + 1), "more than 32 MiB"),
        (READY + head(0, 2**64 - 1), "more than 32 MiB"),
        (READY + head(1, 5) + b"12345" + head(0, MAX_MESSAGE_BYTES - 4), "more than 32 MiB"),
        (READY + b"\x01\x00" * MAX_MESSAGE_FRAMES + b"\x00\x00", "1000 frames"),
        (READY + head(4, 2**20), "command"),
        (head(0, 100), "before it was ready"),
    ],
)
def test_a_message_above_the_limits_is_refused_before_it_has_come(sent: bytes, told: str) -> None:
    incoming = _Incoming()
    with pytest.raises(ValueError, match=told):
        incoming.take(GREETING + sent + bytes(200))


def test_messages_at_the_limits_are_taken() -> None:
    incoming = _Incoming()
    frames = [b"x"] * (MAX_MESSAGE_FRAMES - 1) + [b"y" * (MAX_MESSAGE_BYTES - MAX_MESSAGE_FRAMES + 1)]
    assert incoming.take(GREETING + READY + encode(frames)) == [frames]
    assert incoming.take(encode([b"next"])) == [[b"next"]]


@pytest.mark.parametrize(("ahead", "most"), [(None, MAX_UNREAD_BYTES + 2**21), (16, 2**24 + 2**21), (0, 2**21)])
def test_a_peer_that_sends_without_end_waits_until_it_is_read(ahead: int | None, most: int, tmp_path: Path) -> None:
    count, full = 100, asyncio.Event()
    message = encode([b"z" * 2**20])

    async def flood() -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(tmp_path / "peer"))
            listening.listen(1)
            channel = Channel(str(tmp_path / "peer"), "DEALER", ahead, on_full=full.set)
            peer, _ = await asyncio.to_thread(listening.accept)
            peer.settimeout(20)
            sent = 0

            def send() -> None:
                nonlocal sent
                peer.sendall(GREETING + READY)
                for _ in range(count):
                    peer.sendall(message)
                    sent += len(message)

            with peer:
                sending = asyncio.create_task(asyncio.to_thread(send))
                await asyncio.wait_for(full.wait(), 20)
                await asyncio.sleep(0.2)
                assert not sending.done() and sent <= most
                if ahead != 0:
                    for _ in range(count):
                        assert await asyncio.wait_for(channel.receive(), 20) == [b"z" * 2**20]
                    await sending
                channel.close()
                if ahead == 0:
                    with pytest.raises(OSError):
                        await sending

    asyncio.run(flood())


def test_a_fault_of_the_peer_is_told_once(tmp_path: Path) -> None:
    faults: list[str] = []

    async def meet() -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(tmp_path / "peer"))
            listening.listen(1)
            channel = Channel(str(tmp_path / "peer"), "SUB", None, on_fault=faults.append)
            peer, _ = await asyncio.to_thread(listening.accept)
            with peer:
                peer.settimeout(20)
                with contextlib.suppress(OSError):
                    peer.sendall(GREETING + READY + head(0, MAX_MESSAGE_BYTES + 1) + bytes(2**20))
                while await asyncio.to_thread(peer.recv, 4096):
                    pass
            channel.close()

    with contextlib.suppress(ConnectionResetError):
        asyncio.run(meet())
    assert faults == ["sent a message of more than 32 MiB, which is the limit"]


@pytest.mark.parametrize(
    ("text", "heavy"),
    [
        (b"[" + b"[]," * 1000 + b"1]", True),
        (b"[" + b'{"a":1},' * 1000 + b"1]", True),
        (b"[" + b"1," * 2000 + b"1]", True),
        (b"[" + b'"a",' * 2000 + b"1]", True),
        (b"[1,2,3]", False),
        (b'"' + b"a,[{:" * 10_000 + b'"', False),
        (b'"' + b'\\",[{:' * 10_000 + b'"', False),
        (b'"' + b'\\"' * 100_000, False),
        (b'["\\\\",' + b"[]," * 1000, True),
        (b"\\" * 100_001 + b'"', False),
    ],
)
def test_json_of_many_values_is_heavy_and_long_text_is_not(text: bytes, heavy: bool) -> None:
    assert is_heavy(text, 100_000) is heavy
