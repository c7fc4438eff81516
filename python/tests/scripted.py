"""A service whose answers a test writes, for what a real service does only by accident."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any


@dataclass
class Request:
    """A request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """Equal for requests of one connection."""


@dataclass
class Answer:
    """An answer to send. A body that is cut is shorter than its length says."""

    status: int = 200
    json: Any = None
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    is_cut: bool = False


@dataclass
class Scripted:
    """The service: its address, and the requests so far."""

    url: str
    requests: list[Request]


@contextmanager
def scripted(answer: Callable[[Request, int], Answer]) -> Generator[Scripted, None, None]:
    """Runs a service that answers with a function of the request and of its number, from 0."""
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body leave in one packet; apart, each answer waits for an acknowledgement.
        wbufsize = 64 * 1024

        def answer_any(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            names = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, names, body, self.client_address[1])
            requests.append(request)
            self.send(answer(request, len(requests) - 1))

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = answer_any

        def send(self, one: Answer) -> None:
            content = one.body if one.body is not None else json.dumps(one.json).encode()
            self.send_response(one.status)
            for name, value in one.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) // 2] if one.is_cut else content)
            self.wfile.flush()
            self.close_connection = one.is_cut

        def log_message(self, format: str, *args: Any) -> None:
            """Writes no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Scripted(f"http://127.0.0.1:{server.server_address[1]}", requests)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def talking(talk: Callable[[socket.socket], None]) -> Generator[str, None, None]:
    """Runs a server whose connections a function serves, and yields its address."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):  # The client has closed the connection.
                talk(self.request)

    server = ThreadingTCPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def refusal(status: int, code: str, **error: Any) -> Answer:
    """Returns an error as the service sends it."""
    headers = error.pop("headers", {})
    body = {"error": {"code": code, "message": "no", "hint": "wait", "request_id": "rq1", **error}}
    return Answer(status, body, headers=headers)


def events(*items: Mapping[str, Any]) -> bytes:
    """Returns items as Server-Sent Events."""
    return b"".join(f"data: {json.dumps(item)}\n\n".encode() for item in items)
