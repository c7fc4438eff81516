"""Running code in a runtime, with the variables of earlier code."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .._bodies import CodeOptions, OnCodeCancel, code_body
from .._code_output import CollectedCode, ResultListener
from .._model import decode
from .._models.code import CodeContext, CodeItem, CodeResult
from .._options import UNSET, RuntimePath, Seconds, Unset, check_names, given, path_text
from .._output import Listener
from ..errors import HoltConnectionError
from .code_stream import AsyncCodeStream
from .items import AsyncItems, resume_items
from .pages import AsyncPaginated
from .transport import AsyncTransport

if TYPE_CHECKING:
    from typing_extensions import Unpack

_start_secs = 150.0
"""The time for a process of a language to start."""
_lost_before_start = "The connection was lost before the start of the run was confirmed. It may run"


class AsyncCode:
    """Running code in one runtime. Its variables stay for later code of the same context."""

    def __init__(self, transport: AsyncTransport, runtime_id: str) -> None:
        self._transport = transport
        self._runtime_id = runtime_id

    @cached_property
    def contexts(self) -> AsyncCodeContexts:
        """The code contexts of the runtime."""
        return AsyncCodeContexts(self._transport, self._runtime_id)

    async def run(
        self,
        code: str,
        *,
        language: str | None = None,
        context: CodeContext | str | None = None,
        timeout_secs: Seconds | Unset | None = UNSET,
        env: Mapping[str, str] | None = None,
        max_output_bytes: int | None = None,
        max_result_bytes: int | None = None,
        on_stdout: Listener | None = None,
        on_stderr: Listener | None = None,
        on_result: ResultListener | None = None,
        on_cancel: OnCodeCancel = "interrupt",
    ) -> CodeResult:
        """Runs code and waits for its end. Code that fails or times out is a result.

        Args:
            code: Statements, as in a cell of a notebook.
            language: The language, whose default context is used. Default: `python`.
            context: The context to run in, or its id, in place of a language.
            timeout_secs: The time after which the code is interrupted. None: no limit. Default: 60.
            env: Environment variables during the run.
            max_output_bytes: The most bytes of each stream in the result. Default: 1 MiB.
            max_result_bytes: The most bytes of all results, as JSON. Default: 8 MiB.
            on_stdout: Called with output as it arrives, as text. It gets everything. It is a plain
                function, not `async def`.
            on_stderr: Called with output on stderr as it arrives.
            on_result: Called with each display, each update of one, and the last value.
            on_cancel: The fate of the run when the call is cancelled or interrupted, or a callback
                raises. `interrupt`: it is interrupted first. `leave`: it continues.
        """
        output = CollectedCode(
            on_stdout=on_stdout,
            on_stderr=on_stderr,
            on_result=on_result,
            max_output_bytes=max_output_bytes,
            max_result_bytes=max_result_bytes,
        )
        body = code_body(
            code,
            language=language,
            timeout_secs=timeout_secs,
            env=env,
            max_output_bytes=max_output_bytes,
            max_result_bytes=max_result_bytes,
        )
        async with self._stream(body, context, on_cancel) as items:
            async for item in items:
                output.take(item)
        if output.result is None:
            raise HoltConnectionError("lost", "The service ended the stream before the run")
        return output.result

    def stream(
        self,
        code: str,
        *,
        context: CodeContext | str | None = None,
        on_cancel: OnCodeCancel = "interrupt",
        **options: Unpack[CodeOptions],
    ) -> AsyncCodeStream:
        """Runs code and yields its items as they arrive, from `start` to `end`.

        After a broken connection it reconnects and continues after the last item. Use it as a
        context manager: a block that is left before the run has ended interrupts the run, unless
        `on_cancel` is `leave`. A cancellation does the same.
        """
        check_names("stream", options, CodeOptions)
        return self._stream(code_body(code, **options), context, on_cancel)

    def read(self, run_id: str, *, cursor: int | None = None) -> AsyncItems[CodeItem]:
        """Yields the items of a run from any point that is kept, until its end.

        Args:
            run_id: The id of the run.
            cursor: The cursor after which reading begins. Default: all kept items.
        """

        async def open_after(after: int) -> Any:
            return await self._open_run(run_id, after)

        after = -1 if cursor is None else cursor
        secs = self._transport.resume_timeout_secs
        return AsyncItems(resume_items(CodeItem, open_after, cursor=after, resume_timeout_secs=secs))

    async def interrupt(self, run_id: str) -> None:
        """Interrupts one run. One that has ended stays as it is."""
        await self._transport.run("interruptCodeRun", params={**self._params, "run_id": run_id}, twice_is_once=True)

    def _stream(
        self, body: dict[str, Any], context: CodeContext | str | None, on_cancel: OnCodeCancel
    ) -> AsyncCodeStream:
        stream: AsyncCodeStream

        async def open_after(cursor: int) -> Any:
            if stream.run_id is None:
                return await self._start(body, context)
            return await self._open_run(stream.run_id, cursor)

        items = resume_items(
            CodeItem,
            open_after,
            cursor=-1,
            resume_timeout_secs=self._transport.resume_timeout_secs,
            can_reopen=lambda: stream.run_id is not None,
            lost_before_start=_lost_before_start,
        )
        stream = AsyncCodeStream(items, self._transport, self._runtime_id, on_cancel)
        return stream

    async def _start(self, body: dict[str, Any], context: CodeContext | str | None) -> Any:
        if context is None:
            return await self._transport.open_events("runCode", params=self._params, json=body)
        if "language" in body:
            raise TypeError("Give one of language and context: a context has a language.")
        params = {**self._params, "context_id": _id_of(context)}
        return await self._transport.open_events("runCodeInContext", params=params, json=body)

    async def _open_run(self, run_id: str, after: int) -> Any:
        params = {**self._params, "run_id": run_id}
        query = {"cursor": None if after < 0 else after}
        return await self._transport.open_events("readCodeRun", params=params, query=query)

    @property
    def _params(self) -> dict[str, str]:
        return {"runtime_id": self._runtime_id}


class AsyncCodeContexts:
    """The code contexts of one runtime. Each is a process with variables of its own."""

    def __init__(self, transport: AsyncTransport, runtime_id: str) -> None:
        self._transport = transport
        self._runtime_id = runtime_id

    async def create(self, *, language: str | None = None, cwd: RuntimePath | None = None) -> CodeContext:
        """Creates a context.

        Args:
            language: The language of its code. Default: `python`.
            cwd: The directory in which it starts. Default: the template's.
        """
        answer = await self._transport.call(
            "createCodeContext",
            params={"runtime_id": self._runtime_id},
            json=given(language=language, cwd=None if cwd is None else path_text(cwd)),
            idempotency_key=str(uuid.uuid4()),
            timeout_secs=_start_secs,
        )
        return decode(CodeContext, answer)

    def list(self, *, limit: int | None = None) -> AsyncPaginated[CodeContext]:
        """Lists contexts, newest first. `limit` is the number of items per page.

        A default context is among them after its first run.
        """

        async def read_page(cursor: str | None) -> dict[str, Any]:
            query = {"limit": limit, "cursor": cursor}
            return await self._transport.call("listCodeContexts", params={"runtime_id": self._runtime_id}, query=query)

        return AsyncPaginated(read_page, lambda data: decode(CodeContext, data))

    async def get(self, context: CodeContext | str) -> CodeContext:
        """Gets a context."""
        return decode(CodeContext, await self._transport.call("getCodeContext", params=self._params(context)))

    async def interrupt(self, context: CodeContext | str) -> CodeContext:
        """Interrupts the code that runs in a context. Its variables stay."""
        answer = await self._transport.call(
            "interruptCodeContext", params=self._params(context), twice_is_once=True
        )
        return decode(CodeContext, answer)

    async def restart(self, context: CodeContext | str) -> CodeContext:
        """Restarts a context. It keeps its id, and loses its variables."""
        answer = await self._transport.call(
            "restartCodeContext", params=self._params(context), timeout_secs=_start_secs
        )
        return decode(CodeContext, answer)

    async def delete(self, context: CodeContext | str) -> None:
        """Deletes a context, and ends its code."""
        await self._transport.run("deleteCodeContext", params=self._params(context))

    def _params(self, context: CodeContext | str) -> dict[str, str]:
        return {"runtime_id": self._runtime_id, "context_id": _id_of(context)}


def _id_of(context: CodeContext | str) -> str:
    return context if isinstance(context, str) else context.context_id
