"""Uses the published client for Python against a sandbox that runs, whose id is an argument."""

import asyncio
import json
import sys
import time
import traceback
import urllib.error
import urllib.request

from e2b import (
    AsyncSandbox,
    CommandExitException,
    FileType,
    NotFoundException,
    Sandbox,
    TimeoutException,
)
from e2b.sandbox.filesystem.watch_handle import FilesystemEventType

SANDBOX_ID = sys.argv[1]
HOME = "/home/user"
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def raises(kind, function):
    try:
        function()
    except kind as error:
        return error
    raise AssertionError(f"{kind} was not raised")


@check
def a_command_has_output_and_an_exit_code(sbx):
    result = sbx.commands.run("echo out; echo err >&2; pwd; id -un")
    assert (result.stdout, result.stderr, result.exit_code) == (f"out\n{HOME}\nuser\n", "err\n", 0)
    error = raises(CommandExitException, lambda: sbx.commands.run("exit 3"))
    assert (error.exit_code, error.error) == (3, "exit status 3")


@check
def a_command_has_its_own_directory_user_and_variables(sbx):
    result = sbx.commands.run("pwd; id -un; echo $A", cwd="/tmp", user="root", envs={"A": "b c"})
    assert result.stdout == "/tmp\nroot\nb c\n"
    assert "does not exist" in str(raises(Exception, lambda: sbx.commands.run("true", cwd="/nope")))
    assert "invalid username" in str(raises(Exception, lambda: sbx.commands.run("true", user="nope")))


@check
def a_command_that_takes_too_long_raises(sbx):
    raises(TimeoutException, lambda: sbx.commands.run("sleep 62.5", timeout=0.7))


@check
def a_command_in_the_background_is_found_by_its_pid(sbx):
    begun = sbx.commands.run("echo first; sleep 300", background=True)
    assert begun.pid in [process.pid for process in sbx.commands.list()]
    again = sbx.commands.connect(begun.pid)
    assert begun.kill() is True
    error = raises(CommandExitException, again.wait)
    assert (error.exit_code, error.error) == (-1, "signal: killed")
    assert sbx.commands.kill(begun.pid) is False
    raises(NotFoundException, lambda: sbx.commands.connect(999999))


@check
def a_command_reads_its_input(sbx):
    begun = sbx.commands.run("cat", background=True, stdin=True)
    for count in range(10):
        sbx.commands.send_stdin(begun.pid, f"line {count} é\n")
    sbx.commands.close_stdin(begun.pid)
    assert begun.wait().stdout == "".join(f"line {count} é\n" for count in range(10))


@check
def a_stream_of_input_arrives_in_order(sbx):
    begun = sbx.commands.run("cat | md5sum", background=True, stdin=True)
    lines = [f"{number}\n" * 3000 for number in range(30)]
    sbx.commands.stream_input(begun.pid, iter(lines))
    sbx.commands.close_stdin(begun.pid)
    import hashlib

    wanted = hashlib.md5("".join(lines).encode()).hexdigest()
    assert begun.wait().stdout.split()[0] == wanted


@check
def a_terminal_echoes_and_ends(sbx):
    seen = []
    terminal = sbx.pty.create(size=__import__("e2b").PtySize(rows=20, cols=90))
    sbx.pty.resize(terminal.pid, size=__import__("e2b").PtySize(rows=31, cols=101))
    sbx.pty.send_stdin(terminal.pid, b"stty size; exit 4\n")
    error = raises(CommandExitException, lambda: terminal.wait(on_pty=seen.append))
    assert error.exit_code == 4
    assert b"31 101" in b"".join(seen)


@check
def files_are_written_and_read(sbx):
    info = sbx.files.write("dir/a b.txt", "héllo")
    assert (info.path, info.name) == (f"{HOME}/dir/a b.txt", "a b.txt")
    assert sbx.files.read("dir/a b.txt") == "héllo"
    assert bytes(sbx.files.read("dir/a b.txt", format="bytes")) == "héllo".encode()
    assert b"".join(sbx.files.read("dir/a b.txt", format="stream")) == "héllo".encode()
    sbx.files.write("empty", "")
    assert sbx.files.read("empty") == ""
    name = f'{HOME}/m/"3" é'
    written = sbx.files.write_files([{"path": "m/1", "data": "0"}, {"path": name, "data": b"1"}])
    assert [one.path for one in written] == [f"{HOME}/m/1", name], written
    assert sbx.files.read(name) == "1"


@check
def files_are_listed_renamed_and_removed(sbx):
    sbx.commands.run("mkdir -p l/sub; echo 12345 > l/f; echo x > l/sub/g; ln -s nowhere l/broken")
    entries = sbx.files.list("l", depth=2)
    assert sorted((entry.name, entry.type) for entry in entries) == [
        ("f", FileType.FILE),
        ("g", FileType.FILE),
        ("sub", FileType.DIR),
    ]
    info = sbx.files.get_info("l/f")
    assert (info.size, info.permissions, info.owner) == (6, "-rw-r--r--", "user")
    assert sbx.files.rename("l/f", "l/new/f2").path == f"{HOME}/l/new/f2"
    assert sbx.files.exists("l/f") is False
    sbx.files.remove("l")
    sbx.files.remove("l")
    raises(NotFoundException, lambda: sbx.files.list("l"))
    raises(NotFoundException, lambda: sbx.files.read("l/f"))
    assert sbx.files.make_dir("made/deep") is True
    assert sbx.files.make_dir("made/deep") is False


@check
def a_watch_is_polled(sbx):
    sbx.files.make_dir("watched")
    handle = sbx.files.watch_dir("watched", recursive=True)
    sbx.files.write("watched/new/f", "x")
    sbx.files.rename("watched/new/f", "watched/g")
    sbx.files.remove("watched/g")
    seen = []
    until = time.monotonic() + 10
    while (FilesystemEventType.REMOVE, "g") not in seen and time.monotonic() < until:
        seen += [(event.type, event.name) for event in handle.get_new_events()]
        time.sleep(0.05)
    handle.stop()
    for event in [
        (FilesystemEventType.CREATE, "new"),
        (FilesystemEventType.WRITE, "new/f"),
        (FilesystemEventType.RENAME, "new/f"),
        (FilesystemEventType.CREATE, "g"),
        (FilesystemEventType.REMOVE, "g"),
    ]:
        assert event in seen, (event, seen)
    raises(Exception, handle.get_new_events)


@check
def signed_addresses_work(sbx):
    sbx.files.write("signed.txt", "secret")
    url = sbx.download_url("signed.txt", use_signature_expiration=60)
    assert urllib.request.urlopen(url, timeout=20).read() == b"secret"
    stretched = url.replace("signed.txt", "empty")
    error = raises(urllib.error.HTTPError, lambda: urllib.request.urlopen(stretched, timeout=20))
    assert error.code == 401
    assert "invalid signature" in error.read().decode()


@check
def metadata_is_kept(sbx):
    sbx.files.write("described", "x", metadata={"author": "me"})
    assert sbx.files.get_info("described").metadata == {"author": "me"}


@check
def the_sandbox_runs(sbx):
    assert sbx.is_running() is True


@check
def the_asynchronous_client_works(_):
    asyncio.run(asynchronous())


async def asynchronous():
    sbx = await AsyncSandbox.connect(SANDBOX_ID)
    result = await sbx.commands.run("echo hi")
    assert result.stdout == "hi\n"
    begun = await sbx.commands.run("cat", background=True, stdin=True)

    async with sbx.commands.stream_input(begun.pid) as writer:
        for number in range(5):
            await writer.send(f"{number}\n")
    await sbx.commands.close_stdin(begun.pid)
    assert (await begun.wait()).stdout == "0\n1\n2\n3\n4\n"
    seen = []
    await sbx.files.make_dir("watched-async")
    handle = await sbx.files.watch_dir("watched-async", lambda event: seen.append(event.name))
    await sbx.files.write("watched-async/f", "x")
    for _ in range(100):
        if "f" in seen:
            break
        await asyncio.sleep(0.05)
    await handle.stop()
    assert "f" in seen


sandbox = Sandbox.connect(SANDBOX_ID)
for one in CHECKS:
    problem = None
    try:
        one(sandbox)
    except BaseException:
        problem = traceback.format_exc()
    print(json.dumps({"name": one.__name__, "error": problem}), flush=True)
