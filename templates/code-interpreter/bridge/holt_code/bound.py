"""
The environment of the runtime, which can be newer than that of the bridge.

A checkpoint holds the bridge and its kernels. A runtime that is made of it has variables of its own,
and its guest writes them to a file (`guest/PROTOCOL.md`, bind).
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

FILE = Path("/dev/holt-environment")
_MAX_BYTES = 1024 * 1024

Changes = dict[str, str | None]
"""Values of variables by name. Null removes one."""


class BoundEnvironment:
    """The variables of the runtime. They are read again when their file was replaced."""

    def __init__(self, file: Path = FILE):
        self._file = file
        self._stamp: tuple[int, int, int] | None = None
        self._variables: Mapping[str, str] = {}

    def read(self) -> Mapping[str, str]:
        """Returns the variables. The mapping is another object after a change, and never changes."""
        try:
            found = os.stat(self._file)
            stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
            if stamp != self._stamp and stat.S_ISREG(found.st_mode):
                self._variables = _parse(self._file.read_bytes()[:_MAX_BYTES])
                self._stamp = stamp
        except OSError:
            pass  # Without the file, the bridge was started with all variables.
        return self._variables


def changes_between(before: Mapping[str, str], after: Mapping[str, str]) -> Changes:
    """Returns the changes that lead from one environment to another one."""
    changes: Changes = {name: None for name in before if name not in after}
    return changes | {name: value for name, value in after.items() if before.get(name) != value}


def _parse(content: bytes) -> Mapping[str, str]:
    """Returns the variables of a text as in `/proc/PID/environ` (proc(5))."""
    pairs = (os.fsdecode(entry).partition("=") for entry in content.split(b"\0"))
    return {name: value for name, sign, value in pairs if name and sign}
