"""The bodies of requests with many options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from signal import Signals
from typing import Any, Literal, TypedDict, Union

from ._models.command import TerminalSize
from ._models.network import PolicyBody, PolicyRule
from ._options import UNSET, RuntimePath, Seconds, Unset, given, nullable, path_text, seconds, text_of

Isolation = Literal["gvisor", "container"]
"""The class of isolation: `gvisor` for untrusted code, `container` for code you trust."""

OnTimeout = Literal["pause", "terminate"]
"""The action when `timeout_secs` has passed."""

OnCancel = Literal["kill", "leave"]
"""The fate of a command whose caller is cancelled or leaves the loop over its output."""

OnCodeCancel = Literal["interrupt", "leave"]
"""The fate of a run of code whose caller is cancelled or leaves the loop over its items."""

WantedPolicy = Union[str, PolicyBody, Mapping[str, Any], None]
"""A network policy: a stored one by name or id, or one written out. None: no network."""

PolicyRules = Sequence[Union[PolicyRule, Mapping[str, Any]]]
"""The rules of a network policy, as objects or as the wire has them."""

Size = Union[float, str]
"""An amount of memory or disk: a number of GiB, or text with a unit such as `512MiB`."""

CommandLine = Union[str, Sequence[RuntimePath]]
"""A text for `/bin/sh -c`, or a program and its arguments, which may be paths."""

PtySize = Union[TerminalSize, tuple[int, int]]
"""The size of a terminal: an object, or columns and rows."""

Signal = Union[str, Signals]
"""A signal: its name, such as `SIGTERM`, or `signal.SIGTERM` of Python."""

Rlimit = Union[int, Literal["unlimited"], Mapping[str, Union[int, Literal["unlimited"]]]]
"""A limit of a command: one number, or a mapping with `soft` and `hard`."""


class NamedRuntime(TypedDict, total=False):
    """The options of a new runtime, except its name. `runtimes.create` describes them."""

    template: str
    snapshot: str
    cloud: str
    region: str
    spread: str
    isolation: Isolation
    cpu: float
    memory: Size
    disk: Size
    env: Mapping[str, str]
    metadata: Mapping[str, str]
    timeout_secs: Seconds | None
    on_timeout: OnTimeout
    idle_timeout_secs: Seconds | None
    auto_resume: bool
    network_policy: WantedPolicy
    secrets: Sequence[str]


class NewRuntime(NamedRuntime, total=False):
    """The options of a new runtime. `runtimes.create` describes them."""

    name: str


class NewFork(TypedDict, total=False):
    """The options of a fork besides its count. An absent option has the value of the source."""

    metadata: Mapping[str, str]
    timeout_secs: Seconds | None
    on_timeout: OnTimeout
    idle_timeout_secs: Seconds | None
    auto_resume: bool
    record_files: bool


class CommandOptions(TypedDict, total=False):
    """The options of a command. `commands.run` describes them."""

    cwd: RuntimePath
    env: Mapping[str, str]
    user: str
    stdin: str | bool
    timeout_secs: Seconds | None
    session: str
    max_output_bytes: int
    rlimits: Mapping[str, Rlimit]
    pty: PtySize


class CodeOptions(TypedDict, total=False):
    """The options of a run of code. `code.run` describes them."""

    language: str
    timeout_secs: Seconds | None
    env: Mapping[str, str]
    max_output_bytes: int
    max_result_bytes: int


def runtime_body(
    *,
    template: str | None = None,
    snapshot: str | None = None,
    name: str | None = None,
    cloud: str | None = None,
    region: str | None = None,
    spread: str | None = None,
    isolation: Isolation | None = None,
    cpu: float | None = None,
    memory: Size | None = None,
    disk: Size | None = None,
    env: Mapping[str, str] | None = None,
    metadata: Mapping[str, str] | None = None,
    timeout_secs: Seconds | Unset | None = UNSET,
    on_timeout: OnTimeout | None = None,
    idle_timeout_secs: Seconds | Unset | None = UNSET,
    auto_resume: bool | None = None,
    network_policy: WantedPolicy | Unset = UNSET,
    secrets: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Returns the body of a create."""
    return {
        **given(
            template=template,
            snapshot=snapshot,
            name=name,
            cloud=cloud,
            region=region,
            spread=spread,
            isolation=isolation,
            cpu=cpu,
            memory=memory,
            disk=disk,
            env=env,
            metadata=metadata,
            on_timeout=on_timeout,
            auto_resume=auto_resume,
            secrets=secrets,
        ),
        **nullable(
            timeout_secs=timeout_secs, idle_timeout_secs=idle_timeout_secs, network_policy=network_policy
        ),
    }


def fork_body(
    *,
    count: int | None = None,
    metadata: Mapping[str, str] | None = None,
    timeout_secs: Seconds | Unset | None = UNSET,
    on_timeout: OnTimeout | None = None,
    idle_timeout_secs: Seconds | Unset | None = UNSET,
    auto_resume: bool | None = None,
    record_files: bool | None = None,
) -> dict[str, Any]:
    """Returns the body of a fork."""
    return {
        **given(
            count=count,
            metadata=metadata,
            on_timeout=on_timeout,
            auto_resume=auto_resume,
            record_files=record_files,
        ),
        **nullable(timeout_secs=timeout_secs, idle_timeout_secs=idle_timeout_secs),
    }


def code_body(
    code: str,
    *,
    language: str | None = None,
    timeout_secs: Seconds | Unset | None = UNSET,
    env: Mapping[str, str] | None = None,
    max_output_bytes: int | None = None,
    max_result_bytes: int | None = None,
) -> dict[str, Any]:
    """Returns the body of a run of code. No time limit is 0 on the wire."""
    limit = 0 if timeout_secs is None else timeout_secs
    return given(
        code=code,
        language=language,
        timeout_secs=seconds(limit) if isinstance(limit, (int, float, timedelta)) else None,
        env=env,
        max_output_bytes=max_output_bytes,
        max_result_bytes=max_result_bytes,
    )


def command_body(
    command: CommandLine,
    *,
    background: bool,
    cwd: RuntimePath | None = None,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    stdin: str | bool | None = None,
    timeout_secs: Seconds | Unset | None = UNSET,
    session: str | None = None,
    max_output_bytes: int | None = None,
    rlimits: Mapping[str, Rlimit] | None = None,
    pty: PtySize | None = None,
) -> dict[str, Any]:
    """Returns the body of a command. No time limit is 0 on the wire."""
    limit = 0 if timeout_secs is None else timeout_secs
    return {
        **_program(command),
        **given(
            background=background,
            cwd=None if cwd is None else path_text(cwd),
            env=env,
            user=user,
            stdin=_stdin(stdin),
            timeout_secs=seconds(limit) if isinstance(limit, (int, float, timedelta)) else limit,
            session=session,
            max_output_bytes=max_output_bytes,
            rlimits=rlimits,
            pty=None if pty is None else size_body(pty),
        ),
    }


def size_body(size: PtySize) -> dict[str, int]:
    """Returns the size of a terminal as the service takes it."""
    if isinstance(size, TerminalSize):
        return {"cols": size.cols, "rows": size.rows}
    try:
        cols, rows = size
    except (TypeError, ValueError):
        raise TypeError(f"The size of a terminal is (columns, rows), such as (80, 24), not {size!r}") from None
    return {"cols": cols, "rows": rows}


def signal_name(signal: Signal) -> str:
    """Returns the name of a signal. Numbers differ between systems, so none is sent."""
    return signal.name if isinstance(signal, Signals) else text_of(signal, "signal")


def _program(command: CommandLine) -> dict[str, Any]:
    if isinstance(command, str):
        return {"command": command}
    _refuse_other_than(command, (Sequence,), "command must be a text or a list of arguments")
    return {"argv": [path_text(one) for one in command]}


def _stdin(stdin: str | bool | None) -> str | bool | None:
    hint = "stdin must be a text; for bytes and files, start the command with stdin=True and call write_stdin"
    _refuse_other_than(stdin, (str, bool, type(None)), hint)
    return stdin


def _refuse_other_than(value: object, types: tuple[type, ...], message: str) -> None:
    kind = type(value).__name__
    if not isinstance(value, types) or isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{message}, not {kind}")
