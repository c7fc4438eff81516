"""The output of a command as text."""

from __future__ import annotations

import codecs
from base64 import b64decode
from collections.abc import Callable

from ._callbacks import tell
from ._models.command import CommandData, CommandResult, OutputData, OutputExit, OutputItem, TruncatedStreams

Listener = Callable[[str], object]
"""A callback for output as it arrives, decoded as UTF-8."""

result_output_bytes = 1024 * 1024
"""The default number of bytes of each stream in a result."""


def output_bytes(item: OutputData) -> bytes:
    """Returns the bytes of an item of output, exactly as the command wrote them."""
    return item.data.encode() if item.encoding == "utf-8" else b64decode(item.data)


class Collected:
    """The output of a command, up to the limit of a result. Everything goes to the listeners."""

    def __init__(
        self,
        on_stdout: Listener | None = None,
        on_stderr: Listener | None = None,
        max_output_bytes: int | None = None,
    ) -> None:
        limit = result_output_bytes if max_output_bytes is None else max_output_bytes
        self.stdout = StreamText(on_stdout, limit)
        self.stderr = StreamText(on_stderr, limit)
        self.command: CommandData | None = None
        """The final state of the command, if its `exit` has come with it."""

    def take(self, item: OutputItem) -> None:
        """Takes an item of the stream."""
        if isinstance(item, OutputData):
            (self.stdout if item.type == "stdout" else self.stderr).add(output_bytes(item))
        elif isinstance(item, OutputExit):
            self.command = item.command

    def result_of(self, command: CommandData) -> CommandResult:
        """Returns the result of an ended command with its collected output."""
        stdout, stderr = self.stdout, self.stderr
        return CommandResult(
            **vars(command),
            stdout=stdout.end(),
            stderr=stderr.end(),
            truncated=TruncatedStreams(
                stdout=stdout.truncated or command.stdout_bytes > stdout.size,
                stderr=stderr.truncated or command.stderr_bytes > stderr.size,
            ),
        )


class StreamText:
    """One stream of a command as text. A character whose bytes are in two items is joined."""

    def __init__(self, listener: Listener | None, max_bytes: int) -> None:
        self.truncated = False
        self.size = 0
        self._kept: list[bytes] = []
        self._room = max_bytes
        self._listener = listener
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, data: bytes) -> None:
        self.size += len(data)
        kept = data[: self._room]
        self._room -= len(kept)
        if kept:
            self._kept.append(kept)
        self.truncated = self.truncated or len(kept) < len(data)
        self._tell(self._decoder.decode(data))

    def end(self) -> str:
        self._tell(self._decoder.decode(b"", final=True))
        return b"".join(self._kept).decode("utf-8", "replace")

    def _tell(self, text: str) -> None:
        if self._listener is not None and text:
            tell(self._listener, text)
