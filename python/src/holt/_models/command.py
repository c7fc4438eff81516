"""The answers about commands and sessions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Union

from .._model import Model


@dataclass(kw_only=True, repr=False)
class TerminalSize(Model):
    """The size of a terminal, in characters."""

    cols: int
    rows: int


@dataclass(kw_only=True, repr=False)
class DroppedBytes(Model):
    """The bytes of each stream that are no longer kept."""

    stdout: int
    stderr: int


@dataclass(kw_only=True, repr=False)
class CommandData(Model):
    """A command, running or ended, as the service describes it."""

    command_id: str
    pid: int
    state: Literal["running", "exited"]
    command: str | None
    argv: list[str] | None
    cwd: str
    user: str
    exit_code: int | None
    signal: str | None
    timed_out: bool
    oom_killed: bool
    started_at: datetime
    ended_at: datetime | None
    duration_ms: int | None
    stdout_bytes: int
    stderr_bytes: int
    dropped_bytes: int
    dropped: DroppedBytes
    session: str | None
    session_kept: bool | None
    pty: TerminalSize | None


@dataclass(kw_only=True, repr=False)
class TruncatedStreams(Model):
    """True for each stream that has bytes missing."""

    stdout: bool
    stderr: bool


@dataclass(kw_only=True, repr=False)
class CommandResult(CommandData):
    """A command that has ended, with its output."""

    stdout: str
    stderr: str
    truncated: TruncatedStreams


@dataclass(kw_only=True, repr=False)
class OutputStart(Model):
    """The first item: the command was started."""

    type: Literal["start"]
    cursor: int
    command_id: str
    pid: int


@dataclass(kw_only=True, repr=False)
class OutputData(Model):
    """Output on one stream."""

    type: Literal["stdout", "stderr"]
    cursor: int
    data: str
    encoding: Literal["utf-8", "base64"]
    at: datetime | None = None


@dataclass(kw_only=True, repr=False)
class OutputDropped(Model):
    """Output that was lost before the cursor."""

    type: Literal["dropped"]
    cursor: int
    dropped_bytes: int


@dataclass(kw_only=True, repr=False)
class OutputExit(Model):
    """The end of the command."""

    type: Literal["exit"]
    cursor: int
    exit_code: int | None
    signal: str | None
    timed_out: bool
    session_kept: bool | None = None
    oom_killed: bool | None = None
    command: CommandData | None = None


@dataclass(kw_only=True, repr=False)
class OutputEnd(Model):
    """The last item."""

    type: Literal["end"]
    cursor: int


OutputItem = Union[OutputStart, OutputData, OutputDropped, OutputExit, OutputEnd]
"""An item of the output of a command."""


@dataclass(kw_only=True, repr=False)
class Session(Model):
    """A shell session."""

    name: str
    shell: str
    user: str
    cwd: str
    commands: int
    command_id: str | None
    created_at: datetime
    last_used_at: datetime


@dataclass(kw_only=True, repr=False)
class StdinWritten(Model):
    """The outcome of a write to stdin."""

    written_bytes: int
    offset: int
