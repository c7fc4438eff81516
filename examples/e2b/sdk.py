"""A sandbox, a command, input, files and a watch with E2B's SDK for Python."""

import time

from e2b import CommandExitException, Sandbox

sandbox = Sandbox.create()
try:
    assert sandbox.commands.run('python3 -c "print(6*7)"').stdout == "42\n"
    try:
        sandbox.commands.run("exit 3")
        raise AssertionError("a failed command raised nothing")
    except CommandExitException as error:
        assert error.exit_code == 3

    watch = sandbox.files.watch_dir("/home/user")
    sandbox.files.write("a/b.txt", "x")
    sandbox.files.write("c.txt", "y")
    assert sandbox.files.read("a/b.txt") == "x"
    names: set[str] = set()
    deadline = time.monotonic() + 20
    while "c.txt" not in names and time.monotonic() < deadline:
        names |= {event.name for event in watch.get_new_events()}
        time.sleep(0.1)
    watch.stop()
    assert "c.txt" in names, names

    command = sandbox.commands.run("cat", background=True, stdin=True)
    sandbox.commands.send_stdin(command.pid, "sent\n")
    sandbox.commands.stream_input(command.pid, [f"line {number}\n" for number in range(100)])
    sandbox.commands.close_stdin(command.pid)
    lines = "".join(f"line {number}\n" for number in range(100))
    assert command.wait().stdout == f"sent\n{lines}"
    assert sandbox.is_running()
finally:
    assert sandbox.kill()
assert not sandbox.is_running()
assert not sandbox.kill()
print("ok")
