"""Commands and terminals."""

import asyncio

import e2b
from e2b import CommandExitException, NotFoundException, PtySize, TimeoutException
from recorder import check, finish, kinds, loop, record, refused, the, until

for kind in kinds:
    is_async = kind is e2b.AsyncSandbox
    sandbox = loop.run_until_complete(the(kind.create(timeout=900)))
    commands, pty = sandbox.commands, sandbox.pty
    C, P = (f"{'Async' if is_async else ''}{name}" for name in ("Commands", "Pty"))
    H = "AsyncCommandHandle" if is_async else "CommandHandle"
    I = "AsyncCommandInputHandle"
    record(type(commands), C)
    record(type(pty), P)
    record(getattr(e2b, H), H)

    async def background(line, **options):
        return await the(commands.run(line, background=True, **options))

    async def pids():
        return [one.pid for one in await the(commands.list())]

    async def output_of(handle):
        return (await the(handle.wait())).stdout

    async def runs():
        seen = []
        result = await the(
            commands.run(
                'echo out; echo err >&2; pwd; id -un; echo "$A"',
                cwd="/tmp", user="root", envs={"A": "b c"}, on_stdout=seen.append, on_stderr=seen.append,
            )
        )
        assert result.stdout == "out\n/tmp\nroot\nb c\n" and result.stderr == "err\n" and result.exit_code == 0, result
        assert "".join(sorted("".join(seen))) == "".join(sorted(result.stdout + result.stderr))
        await refused(lambda: commands.run("exit 3"), CommandExitException, "exited with code 3")
        await refused(lambda: commands.run("exec sleep 61.5", timeout=0.7), TimeoutException)
        await until(lambda: ended("sleep 61.5"))
        assert (await the(commands.run("echo kept", retain_output=False))).stdout is None

    async def ended(words):
        return not any(words in " ".join(one.args) for one in await the(commands.list()))

    check("a command has its output, directory, user, variables, exit code and time", runs, works=f"{C}.run {C}.list")

    async def handles():
        begun = await background("echo first; exec sleep 500", cwd="/tmp")
        listed = next(one for one in await the(commands.list()) if one.pid == begun.pid)
        assert (listed.cmd, listed.cwd) == ("/bin/bash", "/tmp"), listed
        again = await the(commands.connect(begun.pid))
        assert again.pid == begun.pid and await the(begun.kill())
        for handle in (begun, again):
            await refused(handle.wait, CommandExitException, "code -1")
        assert not await the(commands.kill(begun.pid))
        await refused(lambda: commands.connect(999_999), NotFoundException)
        left = await background("sleep 500")
        await the(left.disconnect())
        assert left.pid in await pids() and await the(commands.kill(left.pid))
        await until(lambda: is_gone(left.pid))

    async def is_gone(pid):
        return pid not in await pids()

    check(
        "a command in the background is listed, found and killed",
        handles,
        works=f"{C}.run {C}.list {C}.connect {C}.kill {H}.kill {H}.wait {H}.disconnect",
    )

    async def inputs():
        begun = await background("cat", stdin=True)
        await the(commands.send_stdin(begun.pid, "one é\n"))
        await the(begun.send_stdin(b"two\n"))
        await the(begun.close_stdin())
        assert await output_of(begun) == "one é\ntwo\n"
        other = await background("wc -c", stdin=True)
        await the(commands.send_stdin(other.pid, "x" * 100_000))
        await the(commands.close_stdin(other.pid))
        assert (await output_of(other)).strip() == "100000"

    check(
        "a command reads its input until it is closed",
        inputs,
        works=f"{C}.send_stdin {C}.close_stdin {H}.send_stdin {H}.close_stdin {H}.wait",
    )

    async def send(where, pid, lines):
        """Sends input as a stream. The sync client takes the lines at once."""
        if not is_async:
            return where.stream_input(pid, lines)
        stream = await the(where.stream_input(pid))
        record(type(stream), I)
        for line in lines:
            await stream.send(line)
        return await stream.close()

    async def streams():
        begun = await background("cat", stdin=True)
        await send(commands, begun.pid, ("one\n", "two\n"))
        await the(commands.close_stdin(begun.pid))
        assert await output_of(begun) == "one\ntwo\n"

    check("a stream of input arrives in order", streams, works=f"{C}.stream_input" + (f" {I}.send {I}.close" if is_async else ""))

    async def watch(handle, seen):
        """Reads a terminal to its end. The handle of the sync client reads only while it waits."""
        if is_async:
            return await refused(handle.wait, CommandExitException)
        call = lambda: handle.wait(on_pty=lambda data: seen.append(bytes(data)))
        return await refused(call, CommandExitException)

    async def terminal(seen, **options):
        size = PtySize(cols=90, rows=20)
        if is_async:
            return await pty.create(size, on_data=lambda data: seen.append(bytes(data)), **options)
        return pty.create(size, **options)

    async def terminals():
        seen = []
        made = await terminal(seen, cwd="/tmp", user="root", envs={"A": "b c"})
        await the(pty.resize(made.pid, PtySize(cols=101, rows=31)))
        await the(pty.send_stdin(made.pid, b'stty size; echo "in $PWD as $(id -un) with $A"\n'))
        await send(pty, made.pid, (b"exit 4\n",))
        await watch(made, seen)
        text = b"".join(seen).decode()
        assert "31 101" in text and "in /tmp as root with b c" in text, text
        other = await terminal([], timeout=0)
        again = await (pty.connect(other.pid, on_data=lambda data: None) if is_async else the(pty.connect(other.pid)))
        assert again.pid == other.pid and await the(pty.kill(other.pid))
        await watch(again, [])
        assert not await the(pty.kill(other.pid))

    check(
        "a terminal has its size, input, variables and user, and is killed",
        terminals,
        works=f"{P}.create {P}.resize {P}.send_stdin {P}.stream_input {P}.connect {P}.kill",
    )

    async def children():
        started = asyncio.get_event_loop().time()
        assert (await the(commands.run("sleep 30 & echo started"))).stdout == "started\n"
        assert asyncio.get_event_loop().time() - started < 25

    check(
        "a child that keeps the output does not delay its command",
        children,
        differs={f"{C}.run": "a command ends with its shell: a child that keeps the output open does not delay it"},
    )
    loop.run_until_complete(the(sandbox.kill()))

finish()
