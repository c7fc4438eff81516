"""Cancellation: it kills the foreground command, closes connections, and ends nothing else."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys

import anyio
import pytest
from holt import AsyncHolt, AsyncRuntime, Holt, Runtime

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

