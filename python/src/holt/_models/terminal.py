"""The frames of an attachment to a command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Union

from .._model import Model
from .command import TerminalSize


@dataclass(kw_only=True, repr=False)
class AttachStart(Model):
    """The first frame of an attachment."""

    type: Literal["start"]
    command_id: str
    pid: int
    pty: TerminalSize | None
    cursor: int
    replay_end: int
    counts_input: bool | None = None


@dataclass(kw_only=True, repr=False)
class AttachStream(Model):
    """The stream of the following bytes."""

    type: Literal["stream"]
    stream: Literal["stdout", "stderr"]
    cursor: int


@dataclass(kw_only=True, repr=False)
class TerminalDropped(Model):
    """Output that was lost before the cursor."""

    type: Literal["dropped"]
    cursor: int
    dropped_bytes: int


@dataclass(kw_only=True, repr=False)
class TerminalWriter(Model):
    """The right to write: whether this attachment may write."""

    type: Literal["writer"]
    writing: bool
    reason: Literal["granted", "taken", "lost", "forbidden"]


@dataclass(kw_only=True, repr=False)
class AttachInput(Model):
    """The input that is done with."""

    type: Literal["input"]
    taken_bytes: int


@dataclass(kw_only=True, repr=False)
class TerminalResize(Model):
    """The new size of the terminal."""

    type: Literal["resize"]
    cols: int
    rows: int


@dataclass(kw_only=True, repr=False)
class TerminalError(Model):
    """A request of this attachment that failed."""

    type: Literal["error"]
    about: Literal["input", "resize", "signal"]
    code: str
    message: str


@dataclass(kw_only=True, repr=False)
class TerminalExit(Model):
    """The end of the command."""

    type: Literal["exit"]
    cursor: int
    exit_code: int | None
    signal: str | None
    timed_out: bool


@dataclass(kw_only=True, repr=False)
class AttachEnd(Model):
    """The last frame."""

    type: Literal["end"]
    cursor: int


AttachServerFrame = Union[
    AttachStart,
    AttachStream,
    TerminalDropped,
    TerminalWriter,
    AttachInput,
    TerminalResize,
    TerminalError,
    TerminalExit,
    AttachEnd,
]
"""A text frame of the service."""
