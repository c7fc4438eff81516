"""A command of a runtime: its last known state, and the actions on it."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable
from typing import TYPE_CHECKING, Any

from .._bodies import PtySize, Signal, signal_name, size_body
from .._model import decode
from .._models.command import CommandData, CommandResult, OutputItem
from .._options import Seconds
from .._output import Collected, Listener
from .items import AsyncItems, resume_items
from .limited_wait import limited_wait
from .stdin import AsyncStdinWriter
from .transport import AsyncTransport

if TYPE_CHECKING:
    from .terminal import AsyncTerminal, TerminalEvent


class AsyncCommand(CommandData):
    """A command: its last known state, in the words of the service, and the actions on it."""

    def __init__(
        self, transport: AsyncTransport, runtime_id: str, data: CommandData, stdin_offset: int | None = None
    ) -> None:
        self._transport = transport
        self._runtime_id = runtime_id
        self.__dict__.update(vars(data))
        self._stdin = AsyncStdinWriter(transport, self._params, stdin_offset)

    def output(self, *, cursor: int = 0, follow: bool = True) -> AsyncItems[OutputItem]:
        """Yields output from any point that is kept.

        After a broken connection it reconnects and continues after the last item. Closing it does
        not end the command.

        Args:
            cursor: The cursor after which the output begins. Default: all kept output.
            follow: True to continue until the command has ended.
        """

        async def open_after(after: int) -> Any:
            query = {"cursor": after, "follow": follow}
            return await self._transport.open_events("readOutput", params=self._params, query=query)

        secs = self._transport.resume_timeout_secs
        return AsyncItems(resume_items(OutputItem, open_after, cursor=cursor, resume_timeout_secs=secs))

    async def wait(
        self,
        *,
        timeout_secs: Seconds | None = None,
        on_stdout: Listener | None = None,
        on_stderr: Listener | None = None,
        max_output_bytes: int | None = None,
    ) -> CommandResult:
        """Waits for the end and returns the result. A cancellation does not end the command.

        Args:
            timeout_secs: The time limit of the wait. After it the error is a `Timeout`, and the
                command continues. None: no limit.
            on_stdout: Called with the kept output, and then with output as it arrives.
            on_stderr: Called with the output on stderr.
            max_output_bytes: The most bytes of each stream in the result. Default: 1 MiB.
        """
        output = Collected(on_stdout, on_stderr, max_output_bytes)
        with limited_wait(self.command_id, timeout_secs, "command"):
            async with self.output() as items:
                async for item in items:
                    output.take(item)
            command = output.command
            if command is None:  # An older service does not send the final state, so it is read.
                command = decode(CommandData, await self._transport.call("getCommand", params=self._params))
        self.__dict__.update(vars(command))
        return output.result_of(command)

    async def refresh(self) -> None:
        """Reads the command again into this object."""
        self._take(await self._transport.call("getCommand", params=self._params))

    async def write_stdin(self, data: str | bytes, *, eof: bool = False) -> int:
        """Writes all data to an open stdin, at the speed of the command, and returns its bytes.

        After a broken connection the data is sent again and written once. With `eof`, stdin is
        closed after the data.
        """
        raw = data.encode() if isinstance(data, str) else data
        await self._stdin.write(raw, eof=eof)
        return len(raw)

    async def pipe_stdin(self, source: AsyncIterable[str | bytes]) -> None:
        """Writes everything of a source to an open stdin, and closes it."""
        async for chunk in source:
            await self.write_stdin(chunk)
        await self.close_stdin()

    async def close_stdin(self) -> None:
        """Closes an open stdin."""
        await self.write_stdin(b"", eof=True)

    async def attach(
        self,
        *,
        cursor: int = 0,
        write: bool = False,
        takeover: bool = False,
        on_event: Callable[[TerminalEvent], object] | None = None,
    ) -> AsyncTerminal:
        """Attaches to the command, which is best started with `pty`.

        Args:
            cursor: The cursor after which the output begins. Default: all kept output.
            write: True to let this attachment type, resize and send signals.
            takeover: True to take over from another writer, who then only watches.
            on_event: Called for events besides output.
        """
        from .terminal import AsyncTerminal

        return await AsyncTerminal.open(
            self._transport,
            self._runtime_id,
            self.command_id,
            cursor=cursor,
            write=write,
            takeover=takeover,
            on_event=on_event,
        )

    async def resize(self, size: PtySize) -> None:
        """Changes the size of the command's terminal."""
        self._take(await self._transport.call("resizeTerminal", params=self._params, json=size_body(size)))

    async def send_signal(self, signal: Signal) -> None:
        """Sends a signal to the command's process group, as `"SIGTERM"` or `signal.SIGTERM`."""
        body = {"signal": signal_name(signal)}
        self._take(await self._transport.call("sendSignal", params=self._params, json=body))

    async def kill(self) -> None:
        """Kills every process of the command."""
        self._take(await self._transport.call("killCommand", params=self._params, twice_is_once=True))

    def __hash__(self) -> int:
        return hash(self.command_id)

    @property
    def _params(self) -> dict[str, str]:
        return {"runtime_id": self._runtime_id, "command_id": self.command_id}

    def _take(self, answer: Any) -> None:
        self.__dict__.update(vars(decode(CommandData, answer)))
