"""Cancellation: it kills the foreground command, closes connections, and ends nothing else."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import tarfile
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import anyio
import pytest
from holt import AsyncHolt, AsyncRuntime, Holt, Runtime
from holt._io.async_parts import AsyncReader, in_thread, run_beside
from holt._model import decode
from holt.errors import Timeout
from holt.models import RuntimeData

from scripted import Answer, Request, scripted

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Each backend of the asynchronous client."""
    return request.param


async def test_a_cancelled_run_kills_its_command(isolation: str) -> None:
    async with AsyncHolt() as holt:
        async with await holt.runtimes.create(isolation=isolation) as runtime:  # type: ignore[arg-type]
            bystander = await runtime.commands.start("sleep 2001")
            with anyio.move_on_after(1) as scope:
                await runtime.commands.run("sleep 2002 & sleep 2003")
            assert scope.cancelled_caught
            assert await running(runtime) == ["sleep 2001"]
            with anyio.move_on_after(1):
                await runtime.commands.run("sleep 2004", on_cancel="leave")
            with anyio.move_on_after(1):
                await bystander.wait()
            assert await running(runtime) == ["sleep 2001", "sleep 2004"]


async def test_a_run_that_is_cancelled_at_once_kills_its_command_too(isolation: str) -> None:
    async with AsyncHolt() as holt:
        async with await holt.runtimes.create(isolation=isolation) as runtime:  # type: ignore[arg-type]
            for number in range(5):
                with anyio.move_on_after(0.002 * number):
                    await runtime.commands.run(f"sleep 201{number}")
            assert await running(runtime) == []


async def test_a_cancelled_block_deletes_its_runtime(isolation: str) -> None:
    async with AsyncHolt() as holt:
        runtime: AsyncRuntime | None = None
        with anyio.move_on_after(1.5):
            async with await holt.runtimes.create(isolation=isolation) as runtime:  # type: ignore[arg-type]
                await anyio.sleep_forever()
        if runtime is not None:
            await runtime.refresh()
            assert runtime.state in ("terminating", "terminated")


def test_a_task_of_asyncio_is_cancelled(isolation: str) -> None:
    async def main() -> list[str]:
        async with AsyncHolt() as holt:
            async with await holt.runtimes.create(isolation=isolation) as runtime:  # type: ignore[arg-type]
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(runtime.commands.run("sleep 2020"), 0.7)
                return await running(runtime)

    assert asyncio.run(main()) == []


def test_a_download_that_asyncio_cancels_leaves_nothing(tmp_path: Path) -> None:
    async def send_slowly(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        header = tarfile.TarInfo("a")
        header.size = 2**30
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2000000000\r\n\r\n" + header.tobuf())
        with suppress(OSError):
            while not writer.is_closing():
                writer.write(bytes(100_000))
                await writer.drain()
                await asyncio.sleep(0.01)

    async def main() -> None:
        async with await asyncio.start_server(send_slowly, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            async with AsyncHolt(f"http://127.0.0.1:{port}", "k") as holt:
                files = given_runtime(holt).files
                with pytest.raises(asyncio.TimeoutError):
                    await asyncio.wait_for(files.download("/tree", tmp_path / "tree"), 0.5)
                assert list(tmp_path.iterdir()) == []
            server.close()

    asyncio.run(main())


def test_a_read_that_begins_after_asyncio_has_cancelled_fails() -> None:
    is_between_reads, is_cancelled = threading.Event(), threading.Event()
    reads: list[bytes] = []

    async def items() -> AsyncIterator[bytes]:
        while True:
            yield b"a"

    async def main() -> None:
        reader = AsyncReader(items())

        def work() -> None:
            reads.append(reader.read(1))
            is_between_reads.set()
            is_cancelled.wait(60)
            reads.append(reader.read(1))

        task = asyncio.create_task(in_thread(work))
        assert await asyncio.to_thread(is_between_reads.wait, 60)
        task.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        is_cancelled.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert reads == [b"a"]


async def test_a_failure_of_work_in_parallel_is_not_in_a_group() -> None:
    stopped = anyio.Event()

    async def fail() -> None:
        stopped.set()
        raise LookupError

    for main, aside in [(fail, stopped.wait), (stopped.wait, fail)]:
        with pytest.raises(LookupError):
            await run_beside(main, aside)


async def test_a_runtime_that_is_not_deleted_in_time_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holt._async.runtime._delete_secs", 0.2)
    released = threading.Event()

    def answer(request: Request, number: int) -> Answer:
        released.wait(60)
        return Answer(204, body=b"")

    with scripted(answer) as service:
        async with AsyncHolt(service.url, "k") as holt:
            with pytest.raises(Timeout, match="not deleted"):
                async with given_runtime(holt):
                    pass
            with pytest.raises(LookupError):
                async with given_runtime(holt):
                    raise LookupError
        released.set()


def given_runtime(holt: AsyncHolt) -> AsyncRuntime:
    """Returns the handle of a runtime of which no service was asked."""
    return AsyncRuntime(holt._transport, decode(RuntimeData, {"runtime_id": "rt" + "a" * 20, "ports": []}))


def test_an_interrupt_kills_the_command_of_a_script(isolation: str) -> None:
    script = (
        "import sys; from holt import Holt\n"
        "with Holt() as holt:\n"
        "    runtime = holt.runtimes.get(sys.argv[1])\n"
        "    runtime.commands.run('echo begun; sleep 2030', on_stdout=lambda text: print(text, flush=True))\n"
    )
    with Holt() as holt, holt.runtimes.create(isolation=isolation) as runtime:  # type: ignore[arg-type]
        command = [sys.executable, "-c", script, runtime.runtime_id]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"begun\n"
            child.send_signal(signal.SIGINT)
            assert child.wait(30) != 0
        assert running_here(runtime) == []


def running_here(runtime: Runtime) -> list[str]:
    found = runtime.commands.run("pgrep -fax 'sleep 20[0-9]*' | cut -d' ' -f2-", timeout_secs=20)
    return sorted(found.stdout.splitlines())


async def running(runtime: AsyncRuntime) -> list[str]:
    """Returns the sleeps that still run. A kill is done when it is answered."""
    found = await runtime.commands.run("pgrep -fax 'sleep 20[0-9]*' | cut -d' ' -f2-", timeout_secs=20)
    return sorted(found.stdout.splitlines())

