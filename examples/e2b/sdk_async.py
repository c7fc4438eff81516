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
        results = await asyncio.gather(*(sandbox.commands.run(f"echo {number}") for number in range(5)))
        assert [result.stdout for result in results] == [f"{number}\n" for number in range(5)]
    finally:
        assert await sandbox.kill()
    assert not await sandbox.is_running()


asyncio.run(main())
print("ok")
