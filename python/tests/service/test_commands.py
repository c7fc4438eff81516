"""Commands: results, streams, stdin, signals, sessions and cancellation."""

from __future__ import annotations

from datetime import timedelta
from signal import Signals

import pytest
from holt import AsyncRuntime, HoltError
from holt.errors import InvalidRequest
from holt.models import OutputData, OutputExit

pytestmark = pytest.mark.anyio


async def test_a_result_has_output_exit_code_and_times(runtime: AsyncRuntime) -> None:
    result = await runtime.commands.run("echo out; echo err >&2; exit 3", env={"A": "b"}, cwd="/tmp")
    assert (result.stdout, result.stderr, result.exit_code, result.timed_out) == ("out\n", "err\n", 3, False)
    assert result.cwd == "/tmp"
    assert result.ended_at is not None
    assert result.ended_at >= result.started_at


async def test_a_list_is_run_without_a_shell(runtime: AsyncRuntime) -> None:
    result = await runtime.commands.run(["printf", "%s|", "a b", "$HOME"])
    assert result.stdout == "a b|$HOME|"


async def test_a_timeout_is_a_result(runtime: AsyncRuntime) -> None:
    result = await runtime.commands.run("sleep 60", timeout_secs=timedelta(milliseconds=300))
    assert result.timed_out is True


async def test_a_result_that_leaves_on_cancel_is_the_same(runtime: AsyncRuntime) -> None:
    result = await runtime.commands.run("echo $CI", on_cancel="leave")
    assert (result.stdout, result.exit_code) == ("1\n", 0)


async def test_listeners_get_all_output_and_the_result_its_beginning(runtime: AsyncRuntime) -> None:
    heard: list[str] = []
    result = await runtime.commands.run(
        "head -c 100000 /dev/zero | tr '\\0' x; printf 'ü' >&2", on_stdout=heard.append, max_output_bytes=10
    )
    assert "".join(heard) == "x" * 100_000
    assert result.stdout == "x" * 10
    assert result.truncated.stdout is True
    assert result.stderr == "ü"


async def test_an_error_of_a_listener_ends_the_command(runtime: AsyncRuntime) -> None:
    def fail(text: str) -> None:
        raise LookupError(text)

    with pytest.raises(LookupError, match="begun"):
        await runtime.commands.run("echo begun; sleep 1001", on_stdout=fail)
    await expect_ended(runtime, "sleep 1001")


async def test_a_signal_is_a_name_or_the_signal_of_python(runtime: AsyncRuntime) -> None:
    for signal in ("SIGTERM", Signals.SIGTERM):
        command = await runtime.commands.start("sleep 1012")
        await command.send_signal(signal)
        assert (await command.wait()).signal == "SIGTERM"


async def test_a_stream_yields_items_until_the_end(runtime: AsyncRuntime) -> None:
    async with runtime.commands.stream("echo a; sleep 0.2; echo b; exit 7") as items:
        found = [item async for item in items]
    assert [item.type for item in found][0] == "start"
    assert [item.type for item in found][-2:] == ["exit", "end"]
    assert "".join(item.data for item in found if isinstance(item, OutputData)) == "a\nb\n"
    assert [item.exit_code for item in found if isinstance(item, OutputExit)] == [7]


async def test_a_block_that_is_left_early_kills_the_command(runtime: AsyncRuntime) -> None:
    async with runtime.commands.stream("echo begun; sleep 1002") as items:
        async for item in items:
            if isinstance(item, OutputData):
                break
    await expect_ended(runtime, "sleep 1002")


async def test_a_block_that_leaves_its_command_only_closes_the_connection(runtime: AsyncRuntime) -> None:
    async with runtime.commands.stream("echo begun; sleep 1003", on_cancel="leave") as items:
        async for item in items:
            if isinstance(item, OutputData):
                break
    assert items.command_id is not None
    command = await runtime.commands.get(items.command_id)
    assert command.state == "running"
    await command.kill()


async def test_output_is_read_again_from_a_cursor(runtime: AsyncRuntime) -> None:
    command = await runtime.commands.start("echo one; echo two")
    assert (await command.wait()).stdout == "one\ntwo\n"
    items = [item async for item in command.output(cursor=4)]
    assert "".join(item.data for item in items if isinstance(item, OutputData)) == "two\n"
    assert [item.type for item in items][-2:] == ["exit", "end"]


async def test_stdin_takes_large_data_once(runtime: AsyncRuntime) -> None:
    command = await runtime.commands.start("wc -c; sleep 0", stdin=True)
    data = b"0123456789" * 200_000
    assert await command.write_stdin(data[:1_000]) == 1_000
    await command.write_stdin(data[1_000:], eof=True)
    assert (await command.wait()).stdout.strip() == "2000000"


async def test_text_is_given_as_stdin(runtime: AsyncRuntime) -> None:
    assert (await runtime.commands.run("cat", stdin="grüße")).stdout == "grüße"


async def test_a_signal_reaches_the_command(runtime: AsyncRuntime) -> None:
    command = await runtime.commands.start("trap 'echo caught; exit 9' TERM; echo ready; while :; do sleep 0.05; done")
    async with command.output() as items:
        async for item in items:
            if isinstance(item, OutputData) and "ready" in item.data:
                await command.send_signal("SIGTERM")
    result = await command.wait()
    assert (result.exit_code, result.stdout) == (9, "ready\ncaught\n")


async def test_a_kill_ends_every_process(runtime: AsyncRuntime) -> None:
    command = await runtime.commands.start("sleep 1004 & sleep 1005")
    await command.kill()
    result = await command.wait()
    assert result.signal == "SIGKILL"
    await expect_ended(runtime, "sleep 100[45]")


async def test_a_session_keeps_directory_and_variables(runtime: AsyncRuntime) -> None:
    session = runtime.commands.session("kept")
    await session.run("cd /tmp; export WORD=kept")
    result = await session.run("pwd; echo $WORD")
    assert (result.stdout, result.session_kept) == ("/tmp\nkept\n", True)
    assert "kept" in [one.name async for one in runtime.commands.sessions()]
    await session.end()
    assert "kept" not in [one.name for one in await runtime.commands.sessions().all()]


async def test_commands_are_listed_newest_first(runtime: AsyncRuntime) -> None:
    first = (await runtime.commands.run("true")).command_id
    second = (await runtime.commands.run("false")).command_id
    page = await runtime.commands.list(limit=2).page()
    assert [command.command_id for command in page.data] == [second, first]
    assert page.next_cursor is not None


async def test_a_wrong_option_is_named(runtime: AsyncRuntime) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await runtime.commands.run("true", timeout_secs=-1)
    assert "timeout_secs" in caught.value.message
    assert "got -1" in caught.value.message
    assert caught.value.request_id is not None
    assert isinstance(caught.value, HoltError)


async def expect_ended(runtime: AsyncRuntime, pattern: str) -> None:
    """Fails if a process of this command line still runs."""
    found = await runtime.commands.run(["pgrep", "-fx", pattern])
    assert found.stdout == ""
