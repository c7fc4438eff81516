"""A sandbox, a command and files with E2B's asynchronous SDK for Python."""

import asyncio

from e2b import AsyncSandbox


async def main() -> None:
    sandbox = await AsyncSandbox.create()
    try:
        assert (await sandbox.commands.run('python3 -c "print(6*7)"')).stdout == "42\n"
        seen: asyncio.Queue[str] = asyncio.Queue()
        watch = await sandbox.files.watch_dir("/home/user", on_event=lambda event: seen.put_nowait(event.name))
        await sandbox.files.write("a.txt", "x")
        assert await asyncio.wait_for(seen.get(), 20) == "a.txt"
        await watch.stop()
        assert await sandbox.files.read("a.txt") == "x"
        command = await sandbox.commands.run("cat", background=True, stdin=True)
        async with sandbox.commands.stream_input(command.pid) as given:
            for number in range(100):
                await given.send(f"line {number}\n")
        await sandbox.commands.close_stdin(command.pid)
        lines = "".join(f"line {number}\n" for number in range(100))
        assert (await command.wait()).stdout == lines

        results = await asyncio.gather(*(sandbox.commands.run(f"echo {number}") for number in range(5)))
        assert [result.stdout for result in results] == [f"{number}\n" for number in range(5)]
    finally:
        assert await sandbox.kill()
    assert not await sandbox.is_running()
    assert not await sandbox.kill()


asyncio.run(main())
print("ok")
