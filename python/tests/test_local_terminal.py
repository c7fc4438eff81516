"""A program whose own terminal is connected to a command in a runtime."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator

import pytest
from holt import Holt, Runtime

SYNC = """
import sys
from holt import Holt
with Holt() as holt:
    command = holt.runtimes.get(sys.argv[1]).commands.start(["sh"], pty=(80, 24))
    with command.attach(write=True) as terminal:
        print("ENDED", getattr(terminal.interact(), "exit_code", "left"), command.command_id)
"""

ASYNC = """
import asyncio, sys
from holt import AsyncHolt
async def main():
    async with AsyncHolt() as holt:
        command = await (await holt.runtimes.get(sys.argv[1])).commands.start(["sh"], pty=(80, 24))
        async with await command.attach(write=True) as terminal:
            print("ENDED", getattr(await terminal.interact(), "exit_code", "left"), command.command_id)
asyncio.run(main())
"""


@pytest.fixture(scope="module")
def place(isolation: str) -> Iterator[Runtime]:
    """A runtime of each class."""
    with Holt() as holt, holt.runtimes.create(isolation=isolation) as runtime:  # type: ignore[arg-type]
        yield runtime


@pytest.mark.parametrize("script", [SYNC, ASYNC], ids=["sync", "async"])
def test_keys_output_and_sizes_pass_through(place: Runtime, script: str) -> None:
    with Keyboard(place, script) as keyboard:
        keyboard.resize(100, 30)
        keyboard.type("stty -echo; stty size; echo re''ady\r")
        keyboard.read_until("30 100.*ready")
        keyboard.resize(90, 20)
        keyboard.type("until stty size | grep '20 90'; do sleep 0.05; done; exit 7\r")
        keyboard.read_until("ENDED 7")
        assert keyboard.has_echo()


@pytest.mark.parametrize("script", [SYNC, ASYNC], ids=["sync", "async"])
def test_a_key_leaves_the_command_running(place: Runtime, script: str) -> None:
    with Keyboard(place, script) as keyboard:
        keyboard.type("echo re''ady\r")
        keyboard.read_until("ready")
        keyboard.type("\x1d")
        command_id = keyboard.read_until(r"ENDED left (cm\w{20})")[1]
    command = place.commands.get(command_id)
    assert command.state == "running"
    command.kill()


class Keyboard:
    """A program in a terminal of this machine."""

    def __init__(self, runtime: Runtime, script: str) -> None:
        self.ours, theirs = pty.openpty()
        self.seen = ""
        self.child = subprocess.Popen(
            [sys.executable, "-c", script, runtime.runtime_id], stdin=theirs, stdout=theirs, start_new_session=True
        )
        self.theirs = theirs

    def resize(self, cols: int, rows: int) -> None:
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, cols, 0, 0))
        # A terminal tells the processes in its foreground. This one has none.
        self.child.send_signal(signal.SIGWINCH)

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def read_until(self, pattern: str) -> re.Match[str]:
        """Reads until a pattern matches. The runtime answers, or the test fails after a minute."""
        deadline = time.monotonic() + 60
        while (found := re.search(pattern, self.seen, re.DOTALL)) is None:
            ready, _, _ = select.select([self.ours], [], [], max(0, deadline - time.monotonic()))
            assert ready, self.seen
            self.seen += os.read(self.ours, 4096).decode(errors="replace")
        return found

    def has_echo(self) -> bool:
        """Returns true if the terminal is as it was before the program."""
        self.child.wait(30)
        return bool(termios.tcgetattr(self.theirs)[3] & termios.ECHO)

    def __enter__(self) -> Keyboard:
        # The prompt comes after the change to raw mode, which drops what was typed before.
        self.read_until(r"[$#] ")
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.child.wait(30)
        finally:
            self.child.kill()
            os.close(self.ours)
            os.close(self.theirs)
