"""One Jupyter kernel: it starts, executes one request at a time, and ends."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .connection import Connection
from .errors import KernelNotStarted
from .languages import Language
from .limits import START_SECS
from .process import Exit, Process

Sink = Callable[[object, object], Awaitable[None]]
"""Takes the type and the content of a published message."""

_RETRY_SECS = 0.5
_LOG_BYTES = 2000
_QUIET_SECS = 0.05
_REPLY_SECS = 1.0
_BEGIN_SECS = 1.0


@dataclass
class _Execution:
    """A request that the kernel executes. It is over when the reply and the state idle came."""

    sink: Sink
    overflow: Callable[[], None]
    msg_id: str = ""
    reply: dict[str, Any] | None = None
    is_idle: bool = False
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    barrier_id: str = ""
    barrier: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Future[dict[str, Any]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self) -> None:
        if self.reply is not None and self.is_idle and not self.done.done():
            self.done.set_result(self.reply)

    def rest(self) -> None:
        """Notes that the kernel is idle. An interrupt between two steps of a kernel costs its reply."""
        self.is_idle = True
        self.settle()
        if not self.done.done():
            asyncio.get_running_loop().call_later(_REPLY_SECS, self._give_up_reply)

    def _give_up_reply(self) -> None:
        self.reply = self.reply or {"status": "aborted"}
        self.settle()


class Kernel:
    """
    A kernel process with its channels. `exited` is done when the process has ended and its last
    messages were read. `fault` is the reason if the bridge killed it for what it sent.
    """

    def __init__(
        self, language: Language, cwd: str, *, env: Mapping[str, str], directory: Path
    ):
        """`env` has the variables of the runtime, above those of the bridge."""
        self.language = language
        self.fault = ""
        is_ipc = language.spec.metadata.get("transport") == "ipc"
        self._connection = Connection(
            directory, is_ipc=is_ipc, waits=language.is_own, on_fault=self._end_for, on_full=self._overflow
        )
        argv = [
            part.replace("{connection_file}", str(self._connection.file)).replace(
                "{resource_dir}", str(language.spec.resource_dir)
            )
            for part in language.spec.argv
        ]
        own = {name: os.path.expandvars(value) for name, value in language.spec.env.items()}
        try:
            self._process = Process(argv, cwd=cwd, env={**os.environ, **env, **own}, log=self._connection.log)
        except OSError as error:
            self._connection.close()
            raise KernelNotStarted(f"{argv[0]}: {error.strerror}") from error
        self._execution: _Execution | None = None
        self._published = 0  # messages
        self._log = ""
        self._welcomed = asyncio.Event()
        self._readers = [asyncio.create_task(self._read_shell()), asyncio.create_task(self._read_iopub())]
        self.exited: asyncio.Task[Exit] = asyncio.create_task(self._wait())

    async def ready(self) -> None:
        """Waits until the kernel answers. Raises `KernelNotStarted` if it does not, and kills it."""
        greeting = asyncio.create_task(self._greet())
        await asyncio.wait((greeting, self.exited), timeout=START_SECS, return_when=asyncio.FIRST_COMPLETED)
        if greeting.done():
            return
        greeting.cancel()
        if self.exited.done():
            ended = self.fault or "The kernel ended while it was started."
            raise KernelNotStarted(f"{ended} {self._log}".strip())
        self.kill()
        raise KernelNotStarted(f"The kernel did not answer within {START_SECS:.0f} s.")

    async def execute(
        self,
        code: str,
        sink: Sink,
        *,
        silent: bool = False,
        overflow: Callable[[], None] = lambda: None,
        **settings: Any,
    ) -> dict[str, Any]:
        """
        Executes code, and returns the content of the reply. `settings` are of the Python kernel of
        this template. An execution never returns if the kernel ends, so wait for `exited` too.
        `overflow` is called if the sink must wait no longer, because the kernel loses messages.
        """
        execution = self._execution = _Execution(sink, overflow)
        content: dict[str, Any] = {
            "code": code,
            "silent": silent,
            "store_history": not silent,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        if settings:
            content["holt"] = settings
        message = self._connection.session.msg("execute_request", content)
        execution.msg_id = message["header"]["msg_id"]
        self._connection.send("shell", message)
        try:
            reply = await execution.done
            if not self.language.is_own:
                await self._gather_late_output(execution)
            return reply
        finally:
            if self._execution is execution:
                self._execution = None

    async def _gather_late_output(self, execution: _Execution) -> None:
        """
        Waits for output that a kernel publishes after it has said to be idle. Deno does so: its
        streams have tasks of their own. Another request passes them.
        """
        message = self._connection.session.msg("kernel_info_request", {})
        execution.barrier_id = message["header"]["msg_id"]
        self._connection.send("shell", message)
        with suppress(TimeoutError):
            async with asyncio.timeout(_REPLY_SECS):
                await execution.barrier.wait()

    async def interrupt(self) -> None:
        """Interrupts the execution. A kernel ignores a signal that comes before it has begun."""
        if self._execution is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_BEGIN_SECS):
                    await self._execution.begun.wait()
        if self.language.spec.interrupt_mode == "message":
            self._connection.send("control", self._connection.session.msg("interrupt_request", {}))
        else:
            self._process.interrupt()

    def kill(self) -> None:
        self._process.kill()

    def _end_for(self, fault: str) -> None:
        self.fault = f"The kernel {fault}."
        self.kill()

    def _overflow(self) -> None:
        if not self.language.is_own and self._execution is not None:
            self._execution.overflow()

    async def _greet(self) -> None:
        """Asks until the kernel answers on both channels. A subscription takes effect late."""
        while not self._welcomed.is_set():
            self._connection.send("shell", self._connection.session.msg("kernel_info_request", {}))
            try:
                async with asyncio.timeout(_RETRY_SECS):
                    await self._welcomed.wait()
            except TimeoutError:
                continue

    async def _read_shell(self) -> None:
        while True:
            message = await self._connection.receive("shell")
            execution = self._execution
            if message is None or execution is None:
                continue
            if message["parent_header"].get("msg_id") == execution.msg_id:
                content = message.get("content")
                execution.reply = content if isinstance(content, dict) else {}
                execution.settle()

    async def _read_iopub(self) -> None:
        while True:
            message = await self._connection.receive("iopub")
            if message is None:
                continue
            msg_type, content = message.get("msg_type"), message.get("content")
            self._published += 1
            self._welcomed.set()
            execution = self._execution
            if execution is None:
                continue
            parent = message["parent_header"]
            is_its_own = parent.get("msg_id") == execution.msg_id
            if msg_type == "execute_input" and is_its_own:
                execution.begun.set()
            elif msg_type != "status":
                # Threads of earlier runs publish too. The reader of the present run gets that.
                if parent.get("msg_type") == "execute_request":
                    await execution.sink(msg_type, content)
            elif not isinstance(content, dict) or content.get("execution_state") != "idle":
                continue
            elif is_its_own:
                execution.rest()
            elif parent.get("msg_id") == execution.barrier_id:
                execution.barrier.set()

    async def _wait(self) -> Exit:
        """Waits for the end of the process, and for what it had published before."""
        end = await asyncio.shield(self._process.exited)
        seen = -1
        while seen != self._published and self._execution is not None:
            seen = self._published
            await asyncio.sleep(_QUIET_SECS)
        for reader in self._readers:
            reader.cancel()
        with suppress(OSError):
            self._log = _end_of(self._connection.log)
        # Programs that the kernel had started end with it.
        self._process.sweep()
        self._connection.close()
        return end


def _end_of(log: Path) -> str:
    """Returns the end of a log. A kernel may have written any amount."""
    with log.open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - _LOG_BYTES))
        return file.read(_LOG_BYTES).decode(errors="replace")
