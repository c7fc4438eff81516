"""The HTTP server of the bridge: its routes, and how it answers."""

import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any

from aiohttp import web

from . import e2b
from .bodies import cursor_of, new_context_id_of, read_body, request_of, run_id_of, text_of
from .contexts import Contexts
from .errors import KernelNotStarted, Refused
from .limits import MAX_REQUEST_BYTES
from .lines import encode
from .run import Part

_LINES = {"Content-Type": "application/x-ndjson"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_app(contexts: Contexts, is_ready: Callable[[], bool]) -> web.Application:
    """Returns the application: the bridge's own routes below /v1, and those of E2B."""
    routes = _Routes(contexts, is_ready)
    app = web.Application(middlewares=[_answer_errors], client_max_size=MAX_REQUEST_BYTES)
    instance = secrets.token_hex(8)

    async def name_instance(_: web.Request, response: web.StreamResponse) -> None:
        response.headers["X-Holt-Interpreter"] = instance

    app.on_response_prepare.append(name_instance)
    app.add_routes(
        [
            web.get("/health", routes.health),
            web.get("/v1/contexts", routes.list_contexts),
            web.post("/v1/contexts", routes.create_context),
            web.get("/v1/contexts/{id}", routes.get_context),
            web.delete("/v1/contexts/{id}", routes.delete_context),
            web.post("/v1/contexts/{id}/interrupt", routes.interrupt_context),
            web.post("/v1/contexts/{id}/restart", routes.restart_context),
            web.post("/v1/runs", routes.run),
            web.get("/v1/runs/{id}", routes.read_run),
            web.post("/v1/runs/{id}/interrupt", routes.interrupt_run),
        ]
    )
    e2b.add_routes(app, contexts)
    return app


@web.middleware
async def _answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except Refused as error:
        return _json({"code": error.code, "message": str(error)}, error.status)
    except KernelNotStarted as error:
        return _json({"code": "kernel_not_started", "message": str(error)}, 500)
    except web.HTTPException as error:
        code = "too_large" if error.status == 413 else "not_found" if error.status == 404 else "invalid_request"
        return _json({"code": code, "message": error.reason}, error.status)


class _Routes:
    def __init__(self, contexts: Contexts, is_ready: Callable[[], bool]):
        self._contexts = contexts
        self._is_ready = is_ready

    async def health(self, _: web.Request) -> web.Response:
        ready, running = self._is_ready(), self._contexts.running()
        languages = [
            {"language": one.name, "display_name": one.display_name, "running": one.name in running}
            for one in self._contexts.languages.all()
        ]
        return _json({"ready": ready, "languages": languages}, 200 if ready else 503)

    async def list_contexts(self, _: web.Request) -> web.Response:
        return _json({"contexts": [context.describe() for context in self._contexts.all()]})

    async def create_context(self, request: web.Request) -> web.Response:
        body = await read_body(request)
        language, cwd = text_of(body, "language") or "python", text_of(body, "cwd")
        context = await self._contexts.create(language, cwd, new_context_id_of(body))
        return _json(context.describe())

    async def get_context(self, request: web.Request) -> web.Response:
        return _json(self._contexts.get(request.match_info["id"]).describe())

    async def delete_context(self, request: web.Request) -> web.Response:
        await self._contexts.delete(request.match_info["id"])
        return _json({})

    async def interrupt_context(self, request: web.Request) -> web.Response:
        context = self._contexts.get(request.match_info["id"])
        context.interrupt()
        return _json(context.describe())

    async def restart_context(self, request: web.Request) -> web.Response:
        context = self._contexts.get(request.match_info["id"])
        await context.restart()
        return _json(context.describe())

    async def run(self, request: web.Request) -> web.StreamResponse:
        body = await read_body(request)
        context = self._contexts.find(text_of(body, "context_id"), text_of(body, "language"))
        run = self._contexts.start_run(context, request_of(body), run_id_of(body))
        async with aclosing(run.read_first()) as lines:
            first = await anext(lines)
            if not first.is_last:
                return await _stream(request, lines, first)
            # One write for head and body wakes the reader once.
            return web.Response(body=first.text, headers=_LINES)

    async def read_run(self, request: web.Request) -> web.StreamResponse:
        run = self._contexts.runs.get(request.match_info["id"])
        return await _stream(request, run.read(cursor_of(request)))

    async def interrupt_run(self, request: web.Request) -> web.Response:
        run = self._contexts.runs.get(request.match_info["id"])
        run.interrupt()
        return _json({"run_id": run.run_id})


async def _stream(
    request: web.Request, lines: AsyncGenerator[Part], first: Part | None = None
) -> web.StreamResponse:
    """
    Answers lines as they come, after those of `first`. A reader that leaves ends the answer, and
    nothing else.
    """
    response = web.StreamResponse(headers=_LINES)
    await response.prepare(request)
    with suppress(ConnectionError):  # The reader has left.
        async with aclosing(lines):
            if first is not None:
                await response.write(first.text)
            async for text, is_last in lines:
                await (response.write_eof(text) if is_last else response.write(text))
    return response


def _json(body: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=encode(body), status=status, content_type="application/json")
