"""Running commands in a runtime."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from .._bodies import CommandLine, CommandOptions, OnCancel, PtySize, Rlimit, command_body
from .._io.async_parts import AsyncResult, sleep
from .._model import decode
from .._models.command import CommandData, CommandResult, OutputItem, Session
from .._options import UNSET, RuntimePath, Seconds, Unset, check_names
from .._output import Collected, Listener
from .._retry import backoff_secs
from ..errors import ApiError, HoltConnectionError
from .command import AsyncCommand
from .command_stream import AsyncCommandStream
from .items import resume_items
from .pages import AsyncPaginated
from .transport import AsyncTransport

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .session import AsyncShellSession

_T = TypeVar("_T")

_longest_silent_wait_secs = 240
"""The longest wait for an answer without a byte. Proxies end a longer one."""
_default_timeout_secs = 60
_answer_margin_secs = 45.0
"""The time that the service and the network may add to the time limit of a command."""


class AsyncCommands:
    """The commands of one runtime. `/bin/sh -c` runs a text; a list is run directly."""

    def __init__(self, transport: AsyncTransport, runtime_id: str) -> None:
        self._transport = transport
        self._runtime_id = runtime_id

    async def run(
        self,
        command: CommandLine,
        *,
        cwd: RuntimePath | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: str | bool | None = None,
        timeout_secs: Seconds | Unset | None = UNSET,
        session: str | None = None,
        max_output_bytes: int | None = None,
        rlimits: Mapping[str, Rlimit] | None = None,
        pty: PtySize | None = None,
        on_stdout: Listener | None = None,
        on_stderr: Listener | None = None,
        on_cancel: OnCancel = "kill",
    ) -> CommandResult:
        """Runs a command and waits for its end. A failed or timed-out command is a result.

        The request is sent once. If the connection breaks before the start is confirmed, the error
        is a `HoltConnectionError`, and the command may run. `start` and `wait` have no such case.

        Args:
            command: A text for `/bin/sh -c`, or a list of arguments.
            cwd: The directory. Default: the template's.
            env: Environment variables, laid over those of the runtime.
            user: The user. Default: the template's.
            stdin: Text that is written to the command. For bytes, `start` with `stdin=True`, and
                `write_stdin`. Default: /dev/null.
            timeout_secs: The time after which the command is killed. None: no limit. Default: 60.
            session: The name of a shell session to run in.
            max_output_bytes: The most bytes of each stream in the result. Default: 1 MiB.
            rlimits: Resource limits by the names of limits.conf(5), such as `nofile`. Each is a
                number, `"unlimited"`, or a mapping with `soft` and `hard`.
            pty: The size of a terminal to run in, in columns and rows: `(80, 24)`.
            on_stdout: Called with output as it arrives, as text. It gets everything. It is a plain
                function, not `async def`.
            on_stderr: Called with output on stderr as it arrives.
            on_cancel: The fate of the command when the call is cancelled or interrupted, or a
                callback raises. `kill`: it is killed first. `leave`: it continues.
        """
        body = command_body(
            command,
            background=False,
            cwd=cwd,
            env=env,
            user=user,
            stdin=stdin,
            timeout_secs=timeout_secs,
            session=session,
            max_output_bytes=max_output_bytes,
            rlimits=rlimits,
            pty=pty,
        )
        limit = body.get("timeout_secs", _default_timeout_secs)
        is_silent = on_stdout is None and on_stderr is None and on_cancel == "leave"
        if not is_silent or limit == 0 or limit > _longest_silent_wait_secs:
            return await self._run_streamed(body, on_cancel, Collected(on_stdout, on_stderr, max_output_bytes))
        answer = await self._start(body, timeout_secs=limit + _answer_margin_secs)
        if "stdout" not in answer:
            raise HoltConnectionError("lost", "The service answered before the command ended")
        return decode(CommandResult, answer)

    async def start(self, command: CommandLine, **options: Unpack[CommandOptions]) -> AsyncCommand:
        """Starts a command in the background, with the options of `run`.

        Without `timeout_secs` it can run as long as its runtime. With `stdin=True` its stdin stays
        open for `write_stdin`. After a lost answer the request is repeated, and the command starts
        once.
        """
        check_names("start", options, CommandOptions)
        body = command_body(command, background=True, **options)
        answer = await self._start(body, is_keyed=True)
        offset = 0 if options.get("stdin") is True else None
        return AsyncCommand(self._transport, self._runtime_id, decode(CommandData, answer), offset)

    def stream(
        self, command: CommandLine, *, on_cancel: OnCancel = "kill", **options: Unpack[CommandOptions]
    ) -> AsyncCommandStream:
        """Runs a command and yields its items as they arrive, from `start` to `end`.

        After a broken connection it reconnects and continues after the last item. Use it as a
        context manager: a block that is left before the command has ended kills the command,
        unless `on_cancel` is `leave`. A cancellation does the same.
        """
        check_names("stream", options, CommandOptions)
        return self._stream(command_body(command, background=False, **options), on_cancel)

    def list(
        self, *, state: Literal["running", "exited"] | None = None, limit: int | None = None
    ) -> AsyncPaginated[AsyncCommand]:
        """Lists commands, newest first. `limit` is the number of items per page."""

        async def read_page(cursor: str | None) -> dict[str, Any]:
            query = {"state": state, "limit": limit, "cursor": cursor}
            return await self._transport.call("listCommands", params=self._params, query=query)

        return AsyncPaginated(read_page, self._made)

    async def get(self, command_id: str) -> AsyncCommand:
        """Gets a command by its id."""
        return self._made(await self._get(command_id))

    def session(self, name: str) -> AsyncShellSession:
        """Returns a shell whose directory and variables carry over from command to command.

        Its first command creates it.
        """
        from .session import AsyncShellSession

        return AsyncShellSession(name, self, self._transport, self._runtime_id)

    def sessions(self, *, limit: int | None = None) -> AsyncPaginated[Session]:
        """Lists shell sessions, newest first. `limit` is the number of items per page."""

        async def read_page(cursor: str | None) -> dict[str, Any]:
            query = {"limit": limit, "cursor": cursor}
            return await self._transport.call("listSessions", params=self._params, query=query)

        return AsyncPaginated(read_page, lambda data: decode(Session, data))

    async def _run_streamed(self, body: dict[str, Any], on_cancel: OnCancel, output: Collected) -> CommandResult:
        async with self._stream(body, on_cancel) as items:
            async for item in items:
                output.take(item)
        command = output.command
        if command is None:  # An older service does not send the final state, so it is read.
            command = decode(CommandData, await self._get(items.command_id or ""))
        return output.result_of(command)

    def _stream(self, body: dict[str, Any], on_cancel: OnCancel) -> AsyncCommandStream:
        stream: AsyncCommandStream

        async def open_after(cursor: int) -> Any:
            if stream.command_id is None:
                return await self._start_stream(body)
            params = {**self._params, "command_id": stream.command_id}
            query = {"cursor": cursor, "follow": True}
            return await self._transport.open_events("readOutput", params=params, query=query)

        items = resume_items(
            OutputItem,
            open_after,
            cursor=0,
            resume_timeout_secs=self._transport.resume_timeout_secs,
            can_reopen=lambda: stream.command_id is not None,
        )
        stream = AsyncCommandStream(items, self._transport, self._runtime_id, on_cancel)
        return stream

    async def _start_stream(self, body: dict[str, Any]) -> Any:
        return await _when_free(
            body, lambda: self._transport.open_events("startCommand", params=self._params, json=body)
        )

    async def _start(self, body: dict[str, Any], *, is_keyed: bool = False, **request: Any) -> Any:
        def start() -> AsyncResult[Any]:
            # The service keeps a refusal under its key, so each start has one of its own.
            key = str(uuid.uuid4()) if is_keyed else None
            return self._transport.call(
                "startCommand", params=self._params, json=body, idempotency_key=key, **request
            )

        return await _when_free(body, start)

    async def _get(self, command_id: str) -> Any:
        return await self._transport.call("getCommand", params={**self._params, "command_id": command_id})

    def _made(self, data: Any) -> AsyncCommand:
        return AsyncCommand(self._transport, self._runtime_id, decode(CommandData, data))

    @property
    def _params(self) -> dict[str, str]:
        return {"runtime_id": self._runtime_id}


async def _when_free(body: Mapping[str, Any], start: Callable[[], AsyncResult[_T]]) -> _T:
    """Starts a command, and repeats that while its session is busy.

    A refused start has run nothing.
    """
    tries = 0
    while True:
        tries += 1
        try:
            return await start()
        except ApiError as error:
            if "session" not in body or error.details.get("reason") != "session_busy":
                raise
        await sleep(backoff_secs(tries))
