"""The ports of a runtime: programs that listen inside, reached from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import httpx

from .._model import decode
from .._models.port import Port, PortState
from .._models.runtime import PublicPort
from .._options import Seconds, seconds
from ..errors import InvalidRequest
from .tcp import AsyncPortConnection, open_connection
from .transport import AsyncTransport

_answer_margin_secs = 30.0
"""The time for the service's last check after the wait, and for its answer to arrive."""
_token_field = "holt_token"
_token_header = "x-holt-port-token"


class AsyncPorts:
    """The ports of one runtime."""

    def __init__(
        self, transport: AsyncTransport, runtime_id: str, known: Callable[[], Sequence[PublicPort]]
    ) -> None:
        self._transport = transport
        self._runtime_id = runtime_id
        self._known = known

    @property
    def public(self) -> Sequence[int]:
        """The ports that were public when the runtime was last read (`runtime.refresh()`)."""
        return [one.port for one in self._known()]

    async def list(self) -> Sequence[PortState]:
        """Returns the ports on which programs listen, and the public ports."""
        answer = await self._transport.call("listPorts", params={"runtime_id": self._runtime_id})
        return [decode(PortState, one) for one in answer["data"]]

    async def get(
        self,
        port: int,
        *,
        wait_secs: Seconds | None = None,
        expires_in_secs: Seconds | None = None,
        once: bool | None = None,
    ) -> Port:
        """Returns the addresses of a port, with a new token.

        Args:
            port: The port inside the runtime.
            wait_secs: The time to wait until a program listens, up to 600. `listening` of the
                answer is false if none does by then.
            expires_in_secs: The time for which the token is valid. Default: 86,400.
            once: True for a token that admits one request within a minute, for an address that a
                browser opens. The browser gets a cookie for `expires_in_secs`.
        """
        wait = 0 if wait_secs is None else seconds(wait_secs)
        expires = None if expires_in_secs is None else seconds(expires_in_secs)
        answer = await self._transport.call(
            "getPort",
            params=self._params(port),
            query={"wait_secs": wait or None, "expires_in_secs": expires, "once": once},
            timeout_secs=wait + _answer_margin_secs,
        )
        return self._reached_from_here(answer)

    async def url(
        self,
        port: int,
        path: str = "/",
        *,
        wait_secs: Seconds | None = None,
        expires_in_secs: Seconds | None = None,
        once: bool | None = None,
    ) -> str:
        """Returns the address of a path of the program, which every HTTP client can open.

        It is below the service's own address. If the port is private, the query contains a new
        token, which opens the port to anyone who has the address. With `once` it opens it for one
        request.
        """
        address = self._address(port, path)
        found = await self.get(port, wait_secs=wait_secs, expires_in_secs=expires_in_secs, once=once)
        if found.public:
            return address
        # The fields of the program stay as they are written.
        return f"{address}{'&' if '?' in address else '?'}{_token_field}={quote(found.token, safe='')}"

    async def websocket_url(
        self,
        port: int,
        path: str = "/",
        *,
        wait_secs: Seconds | None = None,
        expires_in_secs: Seconds | None = None,
        once: bool | None = None,
    ) -> str:
        """Returns the address of a WebSocket of the program, with a token as in `url`.

        Any library for WebSockets opens it, such as `connect(address)` of the package `websockets`.
        """
        address = await self.url(port, path, wait_secs=wait_secs, expires_in_secs=expires_in_secs, once=once)
        return "ws" + address.removeprefix("http")

    async def set_public(self, port: int, is_public: bool = True) -> Port:
        """Makes a port public for everyone who knows the address, or private again."""
        answer = await self._transport.call("updatePort", params=self._params(port), json={"public": is_public})
        return self._reached_from_here(answer)

    async def rotate(self, port: int) -> Port:
        """Revokes every token of a port, closes its connections, and returns a new token."""
        return self._reached_from_here(await self._transport.call("rotatePort", params=self._params(port)))

    async def request(
        self,
        port: int,
        path: str = "/",
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: str | bytes | None = None,
        json: Any = None,
        timeout_secs: Seconds = 60,
    ) -> httpx.Response:
        """Sends an HTTP request to a port, and returns the answer of the program.

        The service answers 502 if nothing listens. Redirects are returned and not followed, so
        that a program inside cannot send this client elsewhere. The answer is read as a whole.
        `timeout_secs` is the time from the connection to the end of the answer. After it the error
        is a `HoltConnectionError` with the reason `timeout`.
        """
        limit_secs = seconds(timeout_secs)
        sent = {name.lower(): value for name, value in (headers or {}).items()}
        if "authorization" in sent:
            sent[_token_header] = (await self.get(port)).token
        elif self._transport.api_key is not None:
            sent["authorization"] = f"Bearer {self._transport.api_key}"
        request = self._transport.build_raw(
            method,
            self._address(port, path),
            headers=sent,
            content=content,
            json=json,
            timeout=limit_secs,
        )
        return await self._transport.send_raw(request, is_stream=False, limit_secs=limit_secs)

    async def connect(self, port: int) -> AsyncPortConnection:
        """Opens a raw connection to a port, for a protocol other than HTTP."""
        return await open_connection(self._transport, f"{self._place(port)}/tcp")

    def _params(self, port: int) -> dict[str, str]:
        return {"runtime_id": self._runtime_id, "port": str(port)}

    def _place(self, port: int) -> str:
        return f"{self._transport.url}/v1/agents/runtime/{quote(self._runtime_id, safe='')}/ports/{port}"

    def _address(self, port: int, path: str) -> str:
        """Returns the address of a path. A path that leads out would carry the key elsewhere."""
        base = f"{self._place(port)}/proxy/"
        address = str(httpx.URL(f"{base}{path.removeprefix('/')}"))
        parts = urlsplit(address).path.replace("%2e", ".").replace("%2E", ".").split("/")
        # Both are in the normal form: the host in small letters, and no port that its scheme
        # implies.
        if "." in parts or ".." in parts or not address.startswith(str(httpx.URL(base))):
            raise InvalidRequest(f"{path} leads out of the port", hint="Give a path without `.` and `..`.")
        return address

    def _reached_from_here(self, answer: Any) -> Port:
        """Returns the port with a `path_url` that this client reaches.

        The service names its own.
        """
        port = decode(Port, answer)
        port.path_url = self._address(port.port, "/")
        return port
