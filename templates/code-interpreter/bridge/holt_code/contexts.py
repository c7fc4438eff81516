"""All contexts of the bridge."""

import asyncio
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from .bound import BoundEnvironment
from .context import Context
from .errors import Refused
from .kernel import Kernel
from .languages import Language, Languages
from .limits import MAX_CONTEXTS
from .memory import ContextMemory
from .run import Request, Run
from .runs import Runs

_DEFAULT = "default-"


class Contexts:
    """Contexts by id, and the runs in them."""

    def __init__(
        self, languages: Languages, directory: Path, *, bound: BoundEnvironment, memory: ContextMemory
    ):
        self.languages = languages
        self.runs = Runs()
        self._directory = directory
        self._bound = bound
        self._memory = memory
        self._contexts: dict[str, Context] = {}
        self._performances: set[asyncio.Task[None]] = set()

    def remember(self) -> None:
        """Brings back the contexts of a bridge that was killed, without their variables."""
        for one in self._memory.read():
            with suppress(Refused):  # Its language or its directory is gone.
                self._add(one.context_id, self.languages.get(one.language), one.cwd).come_back(one.created_at)

    def all(self) -> list[Context]:
        """Returns the contexts. A default context is one of them from its first use on."""
        return [context for context in self._contexts.values() if context.used]

    def get(self, context_id: str) -> Context:
        """Returns a context. Raises `Refused` if it is unknown."""
        context = self._contexts.get(context_id)
        if context is None or not context.used:
            raise Refused(404, "context_not_found", f"There is no context {context_id[:80]!r}.")
        return context

    async def create(self, language: str, cwd: str | None, context_id: str | None = None) -> Context:
        """
        Creates a context, and waits for its kernel. Raises `KernelNotStarted`, or `Refused`: with
        `context_exists` once the context of an earlier call with the same id has its kernel.
        """
        known = None if context_id is None else self._contexts.get(context_id)
        if known is not None:
            await known.start()
            raise Refused(409, "context_exists", f"There is a context {context_id}.")
        context_id = context_id or f"ctx-{secrets.token_hex(10)}"
        context = self._add(context_id, self.languages.get(language), cwd or os.getcwd())
        context.used = True
        try:
            await context.start()
        except BaseException:
            self._contexts.pop(context.context_id, None)
            raise
        self._memory.write(self.all())
        return context

    async def warm(self, language: str) -> None:
        """Starts the kernel of a language's default context, before it is used."""
        await self.default(language).start()

    def default(self, language: str) -> Context:
        """Returns the default context of a language. Raises `Refused`."""
        found = self.languages.get(language)
        context_id = _DEFAULT + found.name
        return self._contexts.get(context_id) or self._add(context_id, found, os.getcwd())

    def find(self, context_id: str | None, language: str | None) -> Context:
        """Returns the context of a run. Raises `Refused`."""
        if context_id is None:
            return self.default(language or "python")
        if context_id.startswith(_DEFAULT):
            context = self.default(context_id.removeprefix(_DEFAULT))
        else:
            context = self.get(context_id)
        if language is not None and self.languages.get(language) != context.language:
            raise Refused(400, "invalid_request", f"The context {context_id} is one of {context.language.name}.")
        return context

    def start_run(self, context: Context, request: Request, run_id: str | None = None) -> Run:
        """Starts a run, which goes on without readers. Raises `Refused`."""
        context.check(bool(request.env))
        run = self.runs.create(context.context_id, request, run_id)
        if not context.used:
            context.used = True
            self._memory.write(self.all())
        performance = asyncio.create_task(context.perform(run))
        self._performances.add(performance)
        performance.add_done_callback(self._performances.discard)
        performance.add_done_callback(lambda _: self.runs.keep_ended(run))
        return run

    async def delete(self, context_id: str) -> None:
        """Deletes a context with its kernel. Raises `Refused` if it is unknown."""
        context = self.get(context_id)
        del self._contexts[context_id]
        self._memory.write(self.all())
        await context.close()

    def running(self) -> set[str]:
        """Returns the languages that have a running kernel."""
        return {one.language.name for one in self._contexts.values() if one.state in ("idle", "busy")}

    async def close(self) -> None:
        """Kills all kernels."""
        await asyncio.gather(*(context.close() for context in self._contexts.values()))

    def _add(self, context_id: str, language: Language, cwd: str) -> Context:
        if len(self._contexts) >= MAX_CONTEXTS:
            raise Refused(429, "too_many_contexts", f"There are {MAX_CONTEXTS} contexts. Delete one.")
        if not os.path.isdir(cwd):
            raise Refused(400, "invalid_request", f"cwd: {cwd[:200]!r} is not a directory.")
        context = Context(context_id, language, cwd, start_kernel=self._start_kernel, bound=self._bound)
        self._contexts[context_id] = context
        return context

    def _start_kernel(self, language: Language, cwd: str, env: Mapping[str, str]) -> Kernel:
        return Kernel(language, cwd, env=env, directory=self._directory)
