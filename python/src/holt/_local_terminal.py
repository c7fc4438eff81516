"""The terminal of this process: keys, output and the size of its window."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from types import TracebackType
from typing import Any

from .errors import InvalidRequest

_read_bytes = 32 * 1024


class LocalTerminal:
    """The terminal of this process in raw mode, for the length of a block."""

    escape = b"\x1d"
    """Ctrl-], the key that ends the connection."""

    def __init__(self) -> None:
        if sys.platform == "win32":
            raise InvalidRequest("A local terminal needs a Unix system", hint="Read and write the attachment.")
        self._input = sys.stdin.fileno()
        self._output = sys.stdout.fileno()
        self._woken, self._wake = os.pipe()
        self._is_stopped = False
        self._has_new_size = True
        self._mode: Any = None
        self._handler: Any = None

    def __enter__(self) -> LocalTerminal:
        import termios
        import tty

        if os.isatty(self._input):
            self._mode = termios.tcgetattr(self._input)
            tty.setraw(self._input)
        if threading.current_thread() is threading.main_thread():
            self._handler = signal.signal(signal.SIGWINCH, self._on_resize)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import termios

        if self._handler is not None:
            signal.signal(signal.SIGWINCH, self._handler)
        if self._mode is not None:
            termios.tcsetattr(self._input, termios.TCSADRAIN, self._mode)
        os.close(self._woken)
        os.close(self._wake)

    def read(self) -> bytes | None:
        """Waits for keys or a new size, and returns the keys; None at the end."""
        ready, _, _ = select.select([self._input, self._woken], [], [])
        if self._woken in ready:
            os.read(self._woken, 1024)
        if self._is_stopped:
            return None
        if self._input not in ready:
            return b""
        return os.read(self._input, _read_bytes) or None

    def write(self, data: bytes) -> None:
        """Shows output."""
        while data:
            data = data[os.write(self._output, data) :]

    def stop(self) -> None:
        """Ends the wait of `read`."""
        if not self._is_stopped:
            self._is_stopped = True
            os.write(self._wake, b"x")

    def new_size(self) -> tuple[int, int] | None:
        """Returns columns and rows at first and once after each change, else None."""
        has, self._has_new_size = self._has_new_size, False
        if not has or not os.isatty(self._output):
            return None
        found = os.get_terminal_size(self._output)
        return (found.columns, found.lines) if found.columns > 0 and found.lines > 0 else None

    def _on_resize(self, *_: object) -> None:
        self._has_new_size = True
        os.write(self._wake, b"x")
