"""One context: a kernel with its state, and the runs that wait for it."""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from .bound import BoundEnvironment, Changes, changes_between
from .environment import changing, setting
from .errors import KernelNotStarted, Refused
from .identity import read_identity, reseeding
from .kernel import Kernel
from .languages import Language
from .limits import GRACE_SECS, MAX_WAITING_RUNS
from .messages import error_line, page_of, translate
from .process import Exit
from .run import Run

StartKernel = Callable[[Language, str, Mapping[str, str]], Kernel]


class Context:
    """
    A kernel of its own, which executes runs one after another. A kernel that ends takes its
    variables with it. The next run starts another one, and reports `state_lost`.
    """

    def __init__(
        self, context_id: str, language: Language, cwd: str, *, start_kernel: StartKernel, bound: BoundEnvironment
    ):
        self.context_id = context_id
        self.language = language
        self.cwd = cwd
        self.created_at = datetime.now(UTC)
        self.execution_count = 0
        self.used = False
        self._start_kernel = start_kernel
        self._bound = bound
        self._env: Mapping[str, str] = {}  # of the runtime, as far as the kernel has it
        self._kernel: Kernel | None = None
        self._starting: asyncio.Task[Kernel] | None = None
        self._identity: tuple[str, str] | None = None
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._current: Run | None = None
        self._lost = False  # variables, and no run has reported it
        self._deleted = False

    @property
    def state(self) -> str:
        if self._starting is not None:
            return "starting"
        if self._kernel is None:
            return "dead"
        return "idle" if self._current is None else "busy"

    def come_back(self, created_at: datetime) -> None:
        """Takes the place of a context whose kernel ended with an earlier bridge."""
        self.created_at = created_at
        self.used = self._lost = True

    def describe(self) -> dict[str, Any]:
        return {
            "context_id": self.context_id,
            "language": self.language.name,
            "cwd": self.cwd,
            "state": self.state,
            "execution_count": self.execution_count,
            "created_at": self.created_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }

    def check(self, run_env: bool) -> None:
        """Raises `Refused` if the context cannot take a run now."""
        if run_env and not self.language.is_own:
            setting(self.language.name, {})
        if self._waiting >= MAX_WAITING_RUNS:
            raise Refused(429, "too_many_runs", f"{MAX_WAITING_RUNS} runs of this context wait already.")

    async def start(self) -> Kernel:
        """Returns the kernel. Starts one if there is none. Raises `KernelNotStarted`."""
        if self._deleted:
            raise KernelNotStarted("The context was deleted.")
        if self._kernel is not None:
            return self._kernel
        if self._starting is None:
            self._starting = asyncio.create_task(self._make_kernel())
        return await asyncio.shield(self._starting)

    async def perform(self, run: Run) -> None:
        """Executes a run when it is its turn, and ends it. It never raises."""
        self._waiting += 1
        has_turn = await self._take_turn(run)
        self._waiting -= 1
        try:
            if run.stop.done():
                self._end(run, run.stop.result(), time.monotonic())
            else:
                self._current = run
                await self._execute(run)
        except Exception as error:
            # A fault of the bridge ends this run, and no other one.
            run.add(error_line("BridgeError", repr(error)))
            self._end(run, "kernel_died", time.monotonic())
        finally:
            if has_turn:
                self._current = None
                self._turn.release()

    async def _take_turn(self, run: Run) -> bool:
        """Waits for the turn of a run. Returns false if it was interrupted before."""
        if not self._turn.locked():
            return await self._turn.acquire()
        run.add({"type": "queued"})
        turn = asyncio.create_task(self._turn.acquire())
        await asyncio.wait((turn, run.stop), return_when=asyncio.FIRST_COMPLETED)
        if turn.done():
            return True
        turn.cancel()
        await asyncio.wait((turn,))
        return not turn.cancelled()

    def interrupt(self) -> None:
        """Interrupts the run that is executed. Waiting runs take their turn."""
        if self._current is not None:
            self._current.interrupt()

    async def restart(self) -> None:
        """Kills the kernel, and starts another one. Raises `KernelNotStarted`."""
        has_run = self._current is not None
        await self._stop()
        # The run that was executed reports the loss. Otherwise it is what the caller asked for.
        self._lost = self._lost and has_run
        self.execution_count = 0
        await self.start()

    async def close(self) -> None:
        """Kills the kernel for good. The run that is executed ends, and so do waiting ones."""
        self._deleted = True
        await self._stop()

    async def _stop(self) -> None:
        self.interrupt()
        if self._starting is not None:
            with suppress(KernelNotStarted):
                await asyncio.shield(self._starting)
        kernel = self._kernel
        if kernel is not None:
            kernel.kill()
            await asyncio.wait((kernel.exited,))

    async def _make_kernel(self) -> Kernel:
        try:
            self._env = self._bound.read()
            kernel = self._start_kernel(self.language, self.cwd, self._env)
            kernel.exited.add_done_callback(lambda _: self._forget(kernel))
            await kernel.ready()
            self._identity = None
            self._kernel = kernel
            return kernel
        finally:
            self._starting = None

    def _forget(self, kernel: Kernel) -> None:
        if self._kernel is kernel:
            self._kernel = None
            self._lost = True
            self.execution_count = 0

    async def _execute(self, run: Run) -> None:
        try:
            kernel = await self.start()
        except KernelNotStarted as error:
            run.add(error_line("KernelNotStarted", str(error)))
            self._end(run, "kernel_died", time.monotonic())
            return
        if run.stop.done():
            self._end(run, run.stop.result(), time.monotonic())
            return
        loop = asyncio.get_running_loop()
        timeout = run.request.timeout_secs
        timer = None if timeout is None else loop.call_later(timeout, run.interrupt, "timed_out")
        begun = time.monotonic()
        execution = asyncio.create_task(self._request(kernel, run))
        try:
            status = await self._watch(kernel, run, execution)
        finally:
            if timer is not None:
                timer.cancel()
            execution.cancel()
        self._end(run, status, begun)

    async def _request(self, kernel: Kernel, run: Run) -> dict[str, Any]:
        """
        Executes a run. A runtime that is another one than at the last run gives the kernel a fresh
        seed, and its variables.
        """
        env = dict(run.request.env)
        identity = read_identity()
        is_new, self._identity = identity != self._identity, identity
        changes = self._changes()
        if self.language.is_own:
            settings = {"reseed": is_new, "environ": changes, "env": env} if is_new or changes or env else {}
            return await self._publish(kernel, run, settings)
        for code in (
            reseeding(self.language.name) if is_new else None,
            changing(self.language.name, changes) if changes else None,
        ):
            if code is not None:
                await self._silently(kernel, code)
        if not env:
            return await self._publish(kernel, run, {})
        before, after = setting(self.language.name, env)
        await self._silently(kernel, before)
        reply = await self._publish(kernel, run, {})
        await self._silently(kernel, after)
        return reply

    def _changes(self) -> Changes:
        """Returns the changes of the runtime's variables since the last run."""
        before, self._env = self._env, self._bound.read()
        return {} if before is self._env else changes_between(before, self._env)

    async def _publish(self, kernel: Kernel, run: Run, settings: dict[str, Any]) -> dict[str, Any]:
        async def sink(msg_type: object, content: object) -> None:
            for line in translate(msg_type, content):
                run.add(line)
            await run.room()

        reply = await kernel.execute(run.request.code, sink, overflow=run.release, **settings)
        for line in page_of(reply):
            run.add(line)
        return reply

    async def _silently(self, kernel: Kernel, code: str) -> None:
        async def drop(_type: object, _content: object) -> None:
            return

        await kernel.execute(code, drop, silent=True)

    async def _watch(self, kernel: Kernel, run: Run, execution: asyncio.Task[dict[str, Any]]) -> str:
        """Returns the status of a run when its execution or its kernel has ended."""
        both = (execution, kernel.exited)
        await asyncio.wait((*both, run.stop), return_when=asyncio.FIRST_COMPLETED)
        if execution.done():
            return self._status(execution.result())
        if not kernel.exited.done():
            await kernel.interrupt()
            await asyncio.wait(both, timeout=GRACE_SECS, return_when=asyncio.FIRST_COMPLETED)
            if execution.done():
                self._status(execution.result())
                return run.stop.result()
            kernel.kill()
            await asyncio.wait((kernel.exited,))
        if run.stop.done() or kernel.fault:
            fault = kernel.fault or "The kernel did not stop in time."
            run.add(error_line("KernelKilled", f"{fault} It was killed, and its variables are lost."))
            return run.stop.result() if run.stop.done() else "kernel_died"
        return self._died(run, kernel.exited.result())

    def _status(self, reply: dict[str, Any]) -> str:
        count = reply.get("execution_count")
        if isinstance(count, int):
            self.execution_count = count
        return "ok" if reply.get("status") == "ok" else "error"

    def _died(self, run: Run, end: Exit) -> str:
        if end.of_memory:
            run.add(error_line("OutOfMemory", "The kernel was killed, because the runtime was out of memory."))
            return "out_of_memory"
        how = f"by signal {-end.code}" if end.code < 0 else f"with exit code {end.code}"
        run.add(error_line("KernelDied", f"The kernel ended {how}. Its variables are lost."))
        return "kernel_died"

    def _end(self, run: Run, status: str, begun: float) -> None:
        """Ends a run. The first run that ends after a loss of variables reports it."""
        lost, self._lost = self._lost, False
        run.end(
            status,
            execution_count=self.execution_count if status in ("ok", "error") else None,
            duration_ms=round((time.monotonic() - begun) * 1000),
            state_lost=lost,
        )
        if lost and self._kernel is None:
            restart = asyncio.create_task(self.start())
            restart.add_done_callback(lambda task: task.cancelled() or task.exception())
