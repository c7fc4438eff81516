"""Requests to the service: authentication, time limits, retries and errors."""

from __future__ import annotations

import json as json_module
import socket
import time
from collections.abc import AsyncIterable, Callable, Collection, Mapping
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Union, cast
from urllib.parse import quote, urlsplit
from urllib.request import getproxies

import httpx

from .._io.async_parts import limited, obey_limits, sleep
from .._options import UNSET, Unset, query_text, text_of
from .._retry import FailedTry, Retry, is_under_way, parse_retry_after, retry_delay_secs
from .._routes import Route, RouteName, routes
from .._version import __version__
from ..errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    HoltConnectionError,
    HoltError,
    InvalidRequest,
    PreconditionFailed,
    error_class,
)

AsyncContent = Union[bytes, AsyncIterable[bytes], Callable[[], AsyncIterable[bytes]]]
"""The bytes to send.

A function is called again for each try, so that its bytes can be sent again.
"""

event_stream = "text/event-stream"
"""The media type of a stream of items. The service keeps it alive while it is silent."""

_connect_secs = 10.0
_silence_secs = 60.0
"""The longest silence of an open stream. The service sends something every 15 seconds."""
_idle_secs = 30.0
"""The time for which an idle connection is kept. The service closes it after 65 seconds."""


class AsyncTransport:
    """Sends requests of the route table, and turns failures into errors."""

    def __init__(
        self,
        url: str,
        api_key: str | None,
        *,
        max_retries: int,
        timeout_secs: float,
        resume_timeout_secs: float,
        on_retry: Callable[[Retry], object] | None,
    ) -> None:
        self.url = url.rstrip("/")
        self.api_key = api_key
        self.timeout_secs = timeout_secs
        self.resume_timeout_secs = resume_timeout_secs
        self._max_retries = max_retries
        self._on_retry = on_retry
        self._client, self._direct = _make_client(self.url)

    def keep_no_connections(self) -> None:
        """Makes each request close its connection.

        Then a client that nobody closes holds nothing.
        """
        self._client, self._direct = _make_client(self.url, kept=0)

    async def aclose(self) -> None:
        """Closes all connections."""
        await self._client.aclose()

    async def call(self, name: RouteName, **request: Any) -> Any:
        """Sends a request whose answer is JSON."""
        response = await self._send(name, _Request(**request), is_stream=False)
        try:
            return response.json()
        except ValueError:
            raise HoltConnectionError("lost", f"The connection to {self.url} was cut off: no whole JSON came") from None

    async def text(self, name: RouteName, **request: Any) -> str:
        """Sends a request whose answer is text."""
        return (await self._send(name, _Request(**request), is_stream=False)).text

    async def run(self, name: RouteName, **request: Any) -> None:
        """Sends a request whose answer has no body."""
        await self._send(name, _Request(**request), is_stream=False)

    async def open(self, name: RouteName, **request: Any) -> httpx.Response:
        """Sends a request whose answer is read as it arrives. The caller closes it."""
        return await self._send(name, _Request(**request), is_stream=True)

    async def open_events(self, name: RouteName, **request: Any) -> httpx.Response:
        """Sends a request whose answer is a stream of items. The caller closes it."""
        return await self.open(name, headers={"accept": event_stream}, **request)

    def address_of(self, name: RouteName, params: Mapping[str, str], query: Mapping[str, Any]) -> httpx.URL:
        """Returns the address of a request of a route."""
        return httpx.URL(self._address(routes[name], params), params=query_text(query))

    async def send_raw(
        self, request: httpx.Request, *, is_stream: bool = True, limit_secs: float = float("inf")
    ) -> httpx.Response:
        """Sends a request to an address below the service, and returns any answer.

        `limit_secs` is the time limit of the whole answer, unless it is a stream.
        """
        try:
            return await self._send_built(request, is_stream, limit_secs)
        except httpx.TransportError as error:
            raise self._connection_error(error) from error

    def build_raw(self, method: str, url: httpx.URL | str, **options: Any) -> httpx.Request:
        """Returns a request to an address below the service."""
        return self._client.build_request(method, url, **options)

    async def _send(self, name: RouteName, request: _Request, *, is_stream: bool) -> httpx.Response:
        route = routes[name]
        since = time.monotonic()
        tries = 0
        lost: HoltError | None = None
        while True:
            tries += 1
            try:
                return await self._try_once(route, request, is_stream)
            except HoltError as error:
                if lost is not None and request.creates and isinstance(error, AlreadyExists):
                    raise HoltConnectionError("lost", _made_or_not) from lost
                if lost is not None and request.if_match is not None and isinstance(error, PreconditionFailed):
                    raise HoltConnectionError("lost", _changed_or_not) from lost
                lost = error if isinstance(error, HoltConnectionError) and error.reason == "lost" else lost
                delay = retry_delay_secs(
                    FailedTry(
                        method=route.method,
                        error=error,
                        tries=tries,
                        max_retries=self._max_retries,
                        keyed=request.idempotency_key is not None or request.twice_is_once,
                        repeatable=request.is_repeatable,
                        secs_left=self._limit(request) - (time.monotonic() - since),
                    )
                )
                if delay is None:
                    raise
                if self._on_retry is not None:
                    left = None if is_under_way(error) else self._max_retries - tries + 1
                    self._on_retry(Retry(error, delay, left))
            await sleep(delay)

    async def _try_once(self, route: Route, request: _Request, is_stream: bool) -> httpx.Response:
        built = self._build(route, request, is_stream)
        try:
            limit = float("inf") if is_stream else self._limit(request)
            response = await self._send_built(built, is_stream, limit)
            if response.is_success or response.status_code in request.accepted:
                return response
            try:
                await response.aread()
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise self._connection_error(error) from error
        raise _error_of(response, request)

    async def _send_built(
        self, request: httpx.Request, is_stream: bool, limit_secs: float = float("inf")
    ) -> httpx.Response:
        if self._client.is_closed:
            # The connections below the client would open again, and nobody would close them.
            raise Conflict("The client is closed.", hint="Make a new client, or close it later.")
        if is_stream:
            return await self._open_answer(request)
        # The limits in the request are those of single steps, so that a program that sends or reads
        # a few bytes at a time would take any time.
        with limited(limit_secs, self._late_answer):
            response = await self._open_answer(request)
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
        return response

    async def _open_answer(self, request: httpx.Request) -> httpx.Response:
        if self._direct is None:
            return await self._client.send(request, stream=True)
        # The client would add cookies, redirects and logins, which the API does not have. They take
        # a good part of the time of a small request.
        response = await self._direct.handle_async_request(request)
        response.request = request
        return response

    def _build(self, route: Route, request: _Request, is_stream: bool) -> httpx.Request:
        headers = {**_common_headers, "accept": "application/json"}
        if self.api_key is not None and route.needs_key:
            headers["authorization"] = f"Bearer {self.api_key}"
        if request.idempotency_key is not None:
            headers["idempotency-key"] = request.idempotency_key
        if request.if_match is not None:
            headers["if-match"] = request.if_match
        content: Any = request.content() if callable(request.content) else request.content
        if request.json is not None:
            headers["content-type"] = "application/json"
            content = json_module.dumps(request.json, separators=(",", ":")).encode()
        elif content is not None:
            headers["content-type"] = "application/octet-stream"
        if request.headers is not None:
            headers.update(request.headers)
        limit = self._limit(request)
        read = max(limit, request.silence_secs) if is_stream else limit
        timeout = {"connect": _connect_secs, "read": _finite(read), "write": _finite(limit), "pool": None}
        url = self._address(route, request.params or {})
        query = query_text(request.query) if request.query is not None else None
        return httpx.Request(
            route.method, url, params=query or None, headers=headers, content=content, extensions={"timeout": timeout}
        )

    def _address(self, route: Route, params: Mapping[str, str]) -> str:
        path = route.path
        for name, value in params.items():
            text_of(value, name)
            if value in ("", ".", ".."):
                # In an address these are another path: that of the thing above, for example.
                raise InvalidRequest(f"{name} cannot be {value!r}", hint="Give a name or an id.")
            path = path.replace(f"{{{name}}}", quote(value, safe=""))
        return f"{self.url}{path}"

    def _limit(self, request: _Request) -> float:
        if request.timeout_secs is UNSET:
            return self.timeout_secs
        return float("inf") if request.timeout_secs is None else request.timeout_secs

    def _connection_error(self, error: httpx.TransportError) -> HoltConnectionError:
        return connection_error(error, self.url)

    def _late_answer(self) -> HoltConnectionError:
        return _late(self.url)


_made_or_not = (
    "The connection was lost before the answer, and the destination exists now. "
    "Compare it with what was sent: the first try may have made it"
)
_changed_or_not = (
    "The connection was lost before the answer, and there is another version now. "
    "Read it again: the first try may have made it"
)


@dataclass
class _Request:
    """One request, in the words of the route table."""

    params: Mapping[str, str] | None = None
    query: Mapping[str, Any] | None = None
    json: Any = None
    content: AsyncContent | None = None
    headers: Mapping[str, str] | None = None
    idempotency_key: str | None = None
    creates: bool = False
    """True for a PUT that refuses an existing destination."""
    if_match: str | None = None
    """The etag of the version that the request changes, or `*`."""
    twice_is_once: bool = False
    """True for a POST that requests a state, so that a repetition has no further effect."""
    timeout_secs: float | Unset | None = UNSET
    """The time limit in place of the client's own; None for no limit."""
    silence_secs: float = _silence_secs
    """The longest silence of a stream, if it is longer than the time limit."""
    accepted: Collection[int] = ()
    """The statuses besides 2xx that are answers, not errors."""

    @property
    def is_repeatable(self) -> bool:
        return self.content is None or isinstance(self.content, bytes) or callable(self.content)


def connection_error(error: httpx.TransportError, url: str) -> HoltConnectionError:
    """Returns the error of a missing answer."""
    why = str(error) or type(error).__name__
    if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol)):
        return HoltConnectionError("refused", f"Holt at {url} cannot be reached: {why}")
    if isinstance(error, httpx.TimeoutException):
        return _late(url)
    return HoltConnectionError("lost", f"The connection to {url} was cut off: {why}")


def _late(url: str) -> HoltConnectionError:
    return HoltConnectionError("timeout", f"Holt at {url} did not answer in time")


def error_of_response(response: httpx.Response, sent: Mapping[str, Any] | None = None) -> ApiError:
    """Returns the error of an answer that was read, even if a proxy in between wrote it."""
    body = _error_body(response.content)
    code, status = body.get("code"), response.status_code
    text = response.text[:200]
    message: object = body.get("message")
    hint: object = body.get("hint")
    details: object = body.get("details")
    request_id: object = body.get("request_id", response.headers.get("x-request-id"))
    return error_class(code, status)(
        message if isinstance(message, str) else f"The service answered {status}{': ' + text if text else ''}",
        hint=hint if isinstance(hint, str) else None,
        details=cast("dict[str, Any]", details) if isinstance(details, dict) else None,
        request_id=request_id if isinstance(request_id, str) else None,
        http_status=status,
        wire_code=code if isinstance(code, str) else str(status),
        retry_after_secs=parse_retry_after(response.headers.get("retry-after")),
        sent=sent,
    )


def _error_of(response: httpx.Response, request: _Request) -> ApiError:
    return error_of_response(response, {"params": request.params, "query": request.query, "json": request.json})


def _error_body(content: bytes) -> dict[str, Any]:
    try:
        value: Any = json_module.loads(content)
    except ValueError:
        return {}  # The answer is not JSON, so it is not of the service itself. Only the status is known.
    error: Any = cast("dict[str, Any]", value).get("error") if isinstance(value, dict) else None
    return cast("dict[str, Any]", error) if isinstance(error, dict) else {}


_common_headers = {
    "user-agent": f"holt-python/{__version__}",
    "accept-encoding": "identity",
    "connection": "keep-alive",
}


def _make_client(url: str, kept: int = 100) -> tuple[httpx.AsyncClient, httpx.AsyncBaseTransport | None]:
    """Returns a client, and its connections unless proxies of the environment may apply."""
    parts = urlsplit(url)
    # A proxy of the environment cannot reach the loopback address of this machine.
    is_local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=kept, keepalive_expiry=_idle_secs)
    # No certificates are needed, or loaded, for an address without TLS.
    verify = not (is_local and parts.scheme == "http")
    direct = None
    if is_local or not getproxies():
        direct = httpx.AsyncHTTPTransport(
            verify=verify, limits=limits, trust_env=not is_local, socket_options=keepalive_options()
        )
    client = httpx.AsyncClient(
        headers=_common_headers,
        limits=limits,
        # Programs behind a port may set cookies, and a request must not depend on an earlier one.
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        trust_env=not is_local,
        transport=direct,
        verify=verify,
    )
    obey_limits(client)
    return client, direct


def keepalive_options() -> list[tuple[int, int, int]]:
    """Returns the socket options that end an idle connection whose other side is gone.

    A copy may take hours, and the service sends nothing meanwhile. The system asks the other side
    after 30 seconds of silence, and gives up after 30 more (tcp(7)). Systems without an option have
    their own times. Data that is under way is sent again instead, on Linux for about 15 minutes
    (`tcp_retries2`), unless the time limit of the request ends it before.
    """
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in _keepalive.items():
        option: int | None = getattr(socket, name, None)
        if option is not None:
            options.append((socket.IPPROTO_TCP, option, value))
    return options


_keepalive = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""Seconds, and a count.

TCP_USER_TIMEOUT is not set: it also ends a connection whose live peer takes no data (tcp(7)).
"""


def _finite(secs: float) -> float | None:
    return None if secs == float("inf") else secs
