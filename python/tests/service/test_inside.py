"""Terminals, ports and the network of a runtime."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from holt import AsyncRuntime, AsyncTerminal
from holt.errors import Conflict, InvalidRequest
from holt.models import NetworkDecision, NetworkLogEnd, TerminalDropped, TerminalSize, TerminalWriter

pytestmark = pytest.mark.anyio


async def test_a_terminal_takes_keys_and_shows_output(runtime: AsyncRuntime) -> None:
    command = await runtime.commands.start(["sh"], pty=(80, 24))
    async with await command.attach(write=True) as terminal:
        assert (terminal.size, terminal.writing) == (TerminalSize(cols=80, rows=24), terminal.writing)
        await terminal.write("stty size; stty -echo; echo re''ady\n")
        await read_until(terminal, b"ready\r\n")
        await terminal.resize(TerminalSize(cols=100, rows=30))
        await terminal.write("stty size; exit 5\n")
        rest = b"".join([data async for data in terminal])
    assert b"30 100" in rest
    assert terminal.exit is not None
    assert terminal.exit.exit_code == 5


async def test_output_larger_than_the_window_arrives(runtime: AsyncRuntime) -> None:
    command = await runtime.commands.start("read go; head -c 5000000 /dev/zero; echo err >&2", stdin=True)
    async with await command.attach(write=True) as terminal:
        await terminal.write("go\n")
        sizes = {"stdout": 0, "stderr": 0}
        async for chunk in terminal.output():
            sizes[chunk.stream] += len(chunk.data)
            assert chunk.cursor == terminal.cursor
    assert sizes == {"stdout": 5_000_000, "stderr": 4}


async def test_a_slow_watcher_is_told_what_it_lost_and_goes_on(runtime: AsyncRuntime) -> None:
    lost: list[int] = []

    def note(event: object) -> None:
        if isinstance(event, TerminalDropped):
            lost.append(event.dropped_bytes)

    command = await runtime.commands.start("head -c 8000000 /dev/zero")
    await command.wait()
    async with await command.attach(on_event=note) as terminal:
        size = sum([len(data) async for data in terminal])
    assert sum(lost) > 2**20
    assert size + sum(lost) == 8_000_000


async def test_large_input_arrives_whole(runtime: AsyncRuntime) -> None:
    command = await runtime.commands.start("wc -c", stdin=True)
    async with await command.attach(write=True) as terminal:
        await terminal.write(b"x" * 1_000_000)
        await terminal.eof()
        assert (await terminal.wait()).exit_code == 0
    assert (await command.wait()).stdout.strip() == "1000000"


async def test_one_attachment_writes_and_others_watch(runtime: AsyncRuntime) -> None:
    events: list[object] = []
    command = await runtime.commands.start(["cat"], pty=(80, 24))
    async with await command.attach(write=True, on_event=events.append) as first:
        await first.write("one\n")
        async with await command.attach() as watcher:
            with pytest.raises(Conflict, match="only watches"):
                await watcher.write("no\n")
        async with await command.attach(takeover=True) as second:
            await second.write("two\n")
            with pytest.raises(Conflict):
                await first.write("three\n")
            assert [event.reason for event in events if isinstance(event, TerminalWriter)] == ["granted", "lost"]
            await second.send_signal("SIGKILL")
            assert (await second.wait()).signal == "SIGKILL"


async def test_a_port_is_reached(runtime: AsyncRuntime) -> None:
    await runtime.files.write("/tmp/www/index.html", "hello")
    server = await runtime.commands.start("python3 -m http.server 8080 --directory /tmp/www")
    port = await runtime.ports.get(8080, wait_secs=30)
    assert port.listening
    assert port.token not in repr(port)
    assert (await runtime.ports.request(8080, "/index.html")).text == "hello"
    assert (await runtime.ports.request(8080, "/", headers={"Authorization": "Basic x"})).status_code == 200
    async with await runtime.ports.connect(8080) as connection:
        await connection.write(b"GET /index.html HTTP/1.0\r\n\r\n")
        answer = b""
        while data := await connection.read():
            answer += data
    assert answer.endswith(b"\r\n\r\nhello")
    assert "holt_token=" in await runtime.ports.url(8080, "/index.html?a=b")
    once = await runtime.ports.get(8080, once=True)
    assert once.token != (await runtime.ports.get(8080)).token
    assert (once.expires_at - datetime.now(timezone.utc)).total_seconds() < 61
    assert (await runtime.ports.websocket_url(8080)).startswith("ws://")
    assert (await runtime.ports.set_public(8080)).public
    await runtime.refresh()
    assert runtime.ports.public == [8080]
    assert "holt_token=" not in await runtime.ports.url(8080)
    await runtime.ports.set_public(8080, False)
    assert (await runtime.ports.rotate(8080)).token != port.token
    assert [one.port for one in await runtime.ports.list()] == [8080]
    with pytest.raises(InvalidRequest, match="leads out"):
        await runtime.ports.request(8080, "/../../../key")
    await server.kill()


async def test_the_network_is_what_its_policy_says(runtime: AsyncRuntime) -> None:
    await runtime.network.set({"allow": [{"host": "8.8.8.8/32"}]})
    assert (await runtime.network.test("denied.example.com")).allowed is False
    assert (await runtime.network.test("8.8.8.8", port=443)).allowed is True
    await runtime.commands.run("getent hosts denied.example.com || true")
    denied = [item async for item in runtime.network.log(denied=True)]
    assert isinstance(denied[-1], NetworkLogEnd)
    assert "denied.example.com" in [item.name for item in denied if isinstance(item, NetworkDecision)]
    suggested = await runtime.network.suggest()
    assert "denied.example.com" in [rule.host for rule in suggested.add]
    network = await runtime.network.set(suggested.policy)
    assert network.policy is not None
    assert {"8.8.8.8/32", "denied.example.com"} <= {rule.host for rule in network.policy.allow or []}
    assert (await runtime.network.set(None)).policy is None


async def read_until(terminal: AsyncTerminal, end: bytes) -> bytes:
    """Reads output up to a text."""
    seen = b""
    async for data in terminal:
        seen += data
        if end in seen:
            return seen
    raise AssertionError(f"{end!r} did not come: {seen!r}")
