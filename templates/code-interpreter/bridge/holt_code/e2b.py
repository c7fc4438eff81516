"""
The routes of E2B's code interpreter, so that its clients find them on this port.

Lines have no cursors, and errors are plain text.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from .bodies import code_of, env_of, read_body, text_of
from .contexts import Contexts
from .errors import KernelNotStarted, Refused
from .lines import encode
from .run import Request

_BY_MIME = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
}


def add_routes(app: web.Application, contexts: Contexts) -> None:
    """Adds the routes of E2B. `/health` is shared."""
    routes = _Routes(contexts)
    app.add_routes(
        [
            web.post("/execute", _plain(routes.execute)),
            web.get("/contexts", _plain(routes.list_contexts)),
            web.post("/contexts", _plain(routes.create_context)),
            web.delete("/contexts/{id}", _plain(routes.delete_context)),
            web.post("/contexts/{id}/restart", _plain(routes.restart_context)),
        ]
    )


def e2b_lines(line: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the lines of E2B for a line of a run."""
    kind = line["type"]
    if kind in ("stdout", "stderr"):
        yield {"type": kind, "text": line["text"], "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z")}
    elif kind in ("result", "display") and "data" in line:
        known = {_BY_MIME[mime]: value for mime, value in line["data"].items() if mime in _BY_MIME}
        extra = {mime: value for mime, value in line["data"].items() if mime not in _BY_MIME}
        yield {"type": "result", "is_main_result": line["main"], **known, **({"extra": extra} if extra else {})}
    elif kind == "error":
        yield {
            "type": "error",
            "name": line["name"],
            "value": line["value"],
            "traceback": "\n".join(line["traceback"]),
        }
    elif kind == "end":
        if line["execution_count"] is not None:
            yield {"type": "number_of_executions", "execution_count": line["execution_count"]}
        yield {"type": "end_of_execution"}


class _Routes:
    def __init__(self, contexts: Contexts):
        self._contexts = contexts

    async def execute(self, request: web.Request) -> web.StreamResponse:
        body = await read_body(request)
        context_id, language = text_of(body, "context_id"), text_of(body, "language")
        if context_id and language:
            raise Refused(400, "invalid_request", "A context and a language cannot be named together.")
        context = self._contexts.find(context_id or None, language or None)
        run = self._contexts.start_run(context, Request(code_of(body), env=env_of(body, "env_vars")))
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        try:
            async with aclosing(run.read_first()) as parts:
                async for text, is_last in parts:
                    lines = (json.loads(line) for line in text.splitlines())
                    answer = b"".join(encode(out) for line in lines for out in e2b_lines(line))
                    if is_last:
                        await response.write_eof(answer)
                    elif answer:
                        await response.write(answer)
        except (asyncio.CancelledError, ConnectionError):
            run.interrupt()  # Clients of E2B end an execution by leaving.
            raise
        return response

    async def list_contexts(self, _: web.Request) -> web.Response:
        return _json([_present(context.describe()) for context in self._contexts.all()])

    async def create_context(self, request: web.Request) -> web.Response:
        body = await read_body(request)
        context = await self._contexts.create(text_of(body, "language") or "python", text_of(body, "cwd"))
        return _json(_present(context.describe()))

    async def delete_context(self, request: web.Request) -> web.Response:
        await self._contexts.delete(request.match_info["id"])
        return _json(None)

    async def restart_context(self, request: web.Request) -> web.Response:
        await self._contexts.get(request.match_info["id"]).restart()
        return _json(None)


def _present(context: dict[str, Any]) -> dict[str, Any]:
    return {"id": context["context_id"], "language": context["language"], "cwd": context["cwd"]}


def _plain(handler: Any) -> Any:
    async def answer(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except Refused as error:
            # E2B answers 500 for a language that it lacks.
            return web.Response(text=str(error), status=500 if error.code == "language_not_found" else error.status)
        except KernelNotStarted as error:
            return web.Response(text=str(error), status=500)

    return answer


def _json(body: object) -> web.Response:
    return web.Response(text=json.dumps(body), content_type="application/json")
