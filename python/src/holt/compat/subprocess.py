"""The part of Python's `subprocess.run` that a runtime can keep its promises for.

    from holt import Holt
    from holt.compat import subprocess

    with Holt() as holt, holt.runtimes.create() as runtime:
        done = subprocess.run(["ls", "-l"], runtime=runtime, capture_output=True, text=True)

Results and exceptions are those of Python's own module: `CompletedProcess`, `CalledProcessError`
and `TimeoutExpired`. An option that cannot have its meaning is an `UnsupportedOption`, never
ignored.

The differences that remain:

* The program runs inside the runtime, with its files, its user and its environment. `cwd` is a path
  inside it.
* stdin is empty unless `input` is given. A terminal or a file of this machine is not passed on.
* `env` is refused, because it would replace the environment with one of this machine.
  `extra_env` adds variables.
* A process that the command leaves in the background does not delay the result.
* With `stderr=STDOUT` a program that is missing is the return code 127, not a `FileNotFoundError`.
"""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from os import PathLike, fspath
from signal import Signals
from subprocess import DEVNULL, PIPE, STDOUT, CalledProcessError, CompletedProcess, SubprocessError, TimeoutExpired
from typing import TYPE_CHECKING, Any, Union

from .._bodies import CommandOptions
from .._models.command import OutputData, OutputDropped, OutputExit
from .._options import RuntimePath, seconds
from .._output import output_bytes
from ..errors import HoltConnectionError, HoltError, InvalidRequest

if TYPE_CHECKING:
    from .._sync.runtime import Runtime

__all__ = [
    "DEVNULL",
    "PIPE",
    "STDOUT",
    "CalledProcessError",
    "CompletedProcess",
    "SubprocessError",
    "TimeoutExpired",
    "UnsupportedOption",
    "run",
]

Argument = Union[str, "PathLike[str]"]
"""One argument of a program."""

_most_input = 1024 * 1024
"""The most characters of `input`."""
_shortest_secs = 0.001
"""The shortest time limit. On the wire, 0 is none."""
_refused = {
    "env": "Pass the variables that the command needs as extra_env: they are added to the runtime's.",
    "stdin": "Give the data as input, or use runtime.commands.start(..., stdin=True).",
    "preexec_fn": "Put the preparation into the command, with shell=True.",
    "executable": "Name the program as the first argument.",
    "start_new_session": "Each command has a session of its own: leave the option out.",
}
"""The remedies for options that are refused."""


class UnsupportedOption(HoltError, NotImplementedError):
    """An option of `subprocess.run` that a runtime cannot give its meaning."""

    default_code = "unsupported_option"
    default_hint = "Leave the option out, or use runtime.commands."


def run(
    args: Argument | Sequence[Argument],
    *,
    runtime: Runtime,
    input: str | bytes | None = None,
    stdin: int | None = None,
    stdout: int | None = None,
    stderr: int | None = None,
    capture_output: bool = False,
    shell: bool = False,
    cwd: RuntimePath | None = None,
    timeout: float | timedelta | None = None,
    check: bool = False,
    encoding: str | None = None,
    errors: str | None = None,
    text: bool | None = None,
    universal_newlines: bool | None = None,
    user: str | int | None = None,
    extra_env: Mapping[str, str] | None = None,
    **others: Any,
) -> CompletedProcess[Any]:
    """Runs a program inside a runtime, waits for it, and returns the result.

    The options have the meaning that they have in Python's `subprocess.run`. The module names the
    differences.

    Args:
        args: The program and its arguments, or with `shell` a command line for `/bin/sh`.
        runtime: The runtime that runs it.
        input: Text, or bytes that are UTF-8, for its stdin. At most 1 MiB.
        stdin: None or DEVNULL. Both are an empty stdin.
        stdout: PIPE, DEVNULL, or None to print it here as it arrives.
        stderr: PIPE, DEVNULL, STDOUT, or None to print it here as it arrives.
        capture_output: PIPE for both.
        shell: True if `args` is a command line.
        cwd: The directory inside the runtime.
        timeout: The time limit. After it the command is killed, and `TimeoutExpired` is raised.
        check: True to raise `CalledProcessError` for a return code other than 0.
        encoding: The encoding of the output, which makes it text.
        errors: The handling of wrong bytes, which makes the output text.
        text: True to return the output as text.
        universal_newlines: The old name of `text`.
        user: The user inside the runtime.
        extra_env: Variables that are added to the environment.
        others: Any other option is refused.
    """
    for name in [*others, *(["stdin"] if stdin not in (None, DEVNULL) else [])]:
        raise UnsupportedOption(f"The option {name} has no meaning for a runtime", hint=_refused.get(name))
    if capture_output:
        if stdout is not None or stderr is not None:
            raise ValueError("stdout and stderr arguments may not be used with capture_output.")
        stdout = stderr = PIPE
    if stdin is not None and input is not None:
        raise ValueError("stdin and input arguments may not both be used.")
    as_text = bool(text or universal_newlines or encoding or errors)
    out, err = _Stream("stdout", stdout, sys.stdout), _Stream("stderr", stderr, sys.stderr)
    command = _command_of(args, shell=shell, merges=stderr == STDOUT)
    end = _run(command, runtime, _options(input, cwd, timeout, user, extra_env), out, err)
    stdout_value, stderr_value = (one.value(as_text, encoding, errors) for one in (out, err))
    if end.timed_out:
        assert timeout is not None
        raise TimeoutExpired(args, seconds(timeout), out.raw(), err.raw())
    code = _return_code(end)
    if check and code != 0:
        raise CalledProcessError(code, args, stdout_value, stderr_value)
    return CompletedProcess(args, code, stdout_value, stderr_value)


def _options(
    input: str | bytes | None,
    cwd: RuntimePath | None,
    timeout: float | timedelta | None,
    user: str | int | None,
    extra_env: Mapping[str, str] | None,
) -> CommandOptions:
    options: CommandOptions = {"timeout_secs": None if timeout is None else max(seconds(timeout), _shortest_secs)}
    if input is not None:
        options["stdin"] = _input_text(input)
    if cwd is not None:
        options["cwd"] = cwd
    if user is not None:
        options["user"] = str(user)
    if extra_env is not None:
        options["env"] = extra_env
    return options


def _run(
    command: list[str], runtime: Runtime, options: CommandOptions, out: _Stream, err: _Stream
) -> OutputExit:
    end: OutputExit | None = None
    try:
        with runtime.commands.stream(command, **options) as items:
            for item in items:
                if isinstance(item, OutputData):
                    (out if item.type == "stdout" else err).add(output_bytes(item))
                elif isinstance(item, OutputDropped):
                    raise HoltConnectionError("lost", f"{item.dropped_bytes} bytes of the output were lost")
                elif isinstance(item, OutputExit):
                    end = item
    except InvalidRequest as error:
        reason: object = error.details.get("reason")
        if reason == "program_not_found":
            raise FileNotFoundError(2, error.message, command[0]) from error
        if reason == "program_not_executable":
            raise PermissionError(13, error.message, command[0]) from error
        raise
    if end is None:
        raise HoltConnectionError("lost", "The end of the command is not known")
    return end


def _command_of(args: Argument | Sequence[Argument], *, shell: bool, merges: bool) -> list[str]:
    words = [fspath(args)] if isinstance(args, (str, PathLike)) else [fspath(one) for one in args]
    if shell:
        if len(words) != 1:
            raise UnsupportedOption("shell takes one command line, not a list", hint="Give args as one text.")
        return ["/bin/sh", "-c", f"exec 2>&1\n{words[0]}" if merges else words[0]]
    return ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *words] if merges else words


def _input_text(input: str | bytes) -> str:
    hint = "Write the data to a file of the runtime, or use runtime.commands.start(..., stdin=True)."
    try:
        text = input if isinstance(input, str) else bytes(input).decode()
    except UnicodeDecodeError as error:
        raise UnsupportedOption("input that is not UTF-8 has no meaning here", hint=hint) from error
    if len(text) > _most_input:
        raise UnsupportedOption(f"input has more than {_most_input} characters", hint=hint)
    return text


def _return_code(end: OutputExit) -> int:
    if end.signal is not None:
        return -Signals[end.signal].value
    if end.exit_code is not None:
        return end.exit_code
    raise HoltConnectionError("lost", "The exit code of the command is not known")


class _Stream:
    """One stream of the output: kept, dropped, or printed here as it arrives."""

    def __init__(self, name: str, target: int | None, terminal: Any) -> None:
        if target not in (None, PIPE, DEVNULL) and not (name == "stderr" and target == STDOUT):
            hint = "Use PIPE, DEVNULL or None, and write the output to a file afterwards."
            raise UnsupportedOption(f"{name} cannot be a file of this machine", hint=hint)
        self._kept: list[bytes] | None = [] if target == PIPE else None
        self._terminal = terminal if target is None else None
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, data: bytes) -> None:
        if self._kept is not None:
            self._kept.append(data)
        if self._terminal is not None:
            self._terminal.write(self._decoder.decode(data))
            self._terminal.flush()

    def raw(self) -> bytes | None:
        return None if self._kept is None else b"".join(self._kept)

    def value(self, as_text: bool, encoding: str | None, errors: str | None) -> str | bytes | None:
        raw = self.raw()
        if raw is None or not as_text:
            return raw
        return io.TextIOWrapper(io.BytesIO(raw), encoding=encoding, errors=errors).read()
