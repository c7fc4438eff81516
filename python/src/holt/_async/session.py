"""Shell sessions: commands that share a directory and variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._bodies import CommandLine, CommandOptions, OnCancel
from .._models.command import CommandResult
from .._options import check_names
from .._output import Listener
from .command import AsyncCommand
from .command_stream import AsyncCommandStream
from .transport import AsyncTransport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .commands import AsyncCommands


class AsyncShellSession:
    """A shell of a runtime. Its commands run one after another.

    Its directory and variables carry over. A list of arguments may be a builtin of the shell.
    """

    def __init__(self, name: str, commands: AsyncCommands, transport: AsyncTransport, runtime_id: str) -> None:
        self.name = name
        self._commands = commands
        self._transport = transport
        self._runtime_id = runtime_id

    async def run(
        self,
        command: CommandLine,
        *,
        on_stdout: Listener | None = None,
        on_stderr: Listener | None = None,
        on_cancel: OnCancel = "kill",
        **options: Unpack[CommandOptions],
    ) -> CommandResult:
        """Runs a command and waits for its end, with the options of `commands.run`.

        `session_kept` of the result is true if the next command begins with the state it left.
        """
        check_names("run", options, CommandOptions)
        options["session"] = self.name
        return await self._commands.run(
            command, on_stdout=on_stdout, on_stderr=on_stderr, on_cancel=on_cancel, **options
        )

    async def start(self, command: CommandLine, **options: Unpack[CommandOptions]) -> AsyncCommand:
        """Starts a command in the background. The next command of the session waits for it."""
        options["session"] = self.name
        return await self._commands.start(command, **options)

    def stream(
        self, command: CommandLine, *, on_cancel: OnCancel = "kill", **options: Unpack[CommandOptions]
    ) -> AsyncCommandStream:
        """Runs a command and yields its items as they arrive, as `commands.stream` does."""
        options["session"] = self.name
        return self._commands.stream(command, on_cancel=on_cancel, **options)

    async def end(self) -> None:
        """Removes the session and kills the processes that its commands left running."""
        await self._transport.run("endSession", params={"runtime_id": self._runtime_id, "name": self.name})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"
