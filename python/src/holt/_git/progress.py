"""The progress that git reports."""

from __future__ import annotations

import re
from collections.abc import Callable

_max_line_length = 1000
"""The longest line that is reported, in characters."""


class ProgressLines:
    """Splits the output of git into lines.

    Git ends each state of a line by a carriage return, and the last one by a newline.
    """

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._rest = ""

    def add(self, text: str) -> None:
        *lines, rest = re.split(r"[\r\n]", self._rest + text)
        self._rest = rest[:_max_line_length]
        for line in lines:
            self._report(line)

    def end(self) -> None:
        """Reports the last line, which has no end."""
        self._report(self._rest)
        self._rest = ""

    def _report(self, line: str) -> None:
        # The remote ends its lines with an escape sequence that erases the rest of the line.
        shown = line.replace("\x1b[K", "").strip()
        if shown:
            self._tell(shown[:_max_line_length])


def without_progress(stderr: str) -> str:
    """Returns the output of git with the last state of each line only."""
    return "\n".join(line.removesuffix("\r").split("\r")[-1] for line in stderr.split("\n"))
