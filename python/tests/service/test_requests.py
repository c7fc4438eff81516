"""Requests: retries, idempotency keys, errors, streams that break, and reused connections."""

from __future__ import annotations

import json
import socket
import uuid
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import httpcore
import httpx
import pytest
from holt import AsyncCommand, AsyncHolt, AsyncPortConnection, AsyncRuntime, HoltConnectionError, HoltError
from holt._async.transport import keepalive_options
from holt._io.async_parts import sleep
from holt.errors import AlreadyExists, Conflict, Internal, InvalidRequest, QuotaExceeded, RateLimited, RuntimeNotFound, Timeout, Unavailable
from holt._model import decode
from holt.models import CommandData, OutputData, RuntimeData

from scripted import Answer, Request, events, refusal, scripted

pytestmark = pytest.mark.anyio

RUNTIME_ID = "rt" + "a" * 20
POLICY: dict[str, Any] = {
    "policy_id": "np" + "a" * 20,
    "name": "x",
    "allow": [],
    "include": [],
    "allow_all_hosts": False,
    "deny": [],
    "inspection": [],
    "revision": 1,
    "created_at": "2026-01-01T00:00:00.000Z",
    "updated_at": "2026-01-01T00:00:00.000Z",
}


async def test_a_create_is_repeated_under_the_same_key() -> None:
    def answer(request: Request, number: int) -> Answer:
        if number == 0:
            return refusal(429, "rate_limited", headers={"retry-after": "0"})
        return refusal(503, "unavailable") if number == 1 else Answer(201, POLICY)

    told: list[tuple[str, int | None]] = []
    with scripted(answer) as service:
        async with AsyncHolt(
            service.url, "k", max_retries=4, on_retry=lambda retry: told.append((retry.error.code, retry.retries_left))
        ) as holt:
            policy = await holt.policies.create("x")
    assert policy.name == "x"
    assert told == [("rate_limited", 4), ("unavailable", 3)]
    keys = {request.headers["idempotency-key"] for request in service.requests}
    assert (len(service.requests), len(keys)) == (3, 1)
    assert {request.headers["authorization"] for request in service.requests} == {"Bearer k"}


async def test_two_creates_have_two_keys() -> None:
    with scripted(lambda request, number: Answer(201, POLICY)) as service:
        async with AsyncHolt(service.url, "k") as holt:
            await holt.policies.create("x")
            await holt.policies.create("x")
    assert len({request.headers["idempotency-key"] for request in service.requests}) == 2


async def test_what_a_wait_does_not_change_is_not_repeated() -> None:
    with scripted(lambda request, number: refusal(429, "quota_exceeded", details={"quota": "cpu"})) as service:
        async with AsyncHolt(service.url, "k") as holt:
            with pytest.raises(QuotaExceeded) as caught:
                await holt.runtimes.create()
    assert len(service.requests) == 1
    assert (caught.value.details, caught.value.request_id) == ({"quota": "cpu"}, "rq1")


@pytest.mark.parametrize("on_cancel", ["kill", "leave"])
async def test_a_command_is_sent_once_when_its_connection_breaks(on_cancel: Literal["kill", "leave"]) -> None:
    with scripted(lambda request, number: Answer(body=b" " * 100, is_cut=True)) as service:
        async with AsyncHolt(service.url, "k") as holt:
            with pytest.raises(HoltConnectionError) as caught:
                await given_runtime(holt).commands.run("true", on_cancel=on_cancel)
    assert caught.value.reason == "lost"
    assert [request.method for request in service.requests] == ["POST"]
    assert "idempotency-key" not in service.requests[0].headers


async def test_a_long_retry_after_is_an_error_for_the_caller() -> None:
    with scripted(lambda request, number: refusal(429, "rate_limited", headers={"retry-after": "3600"})) as service:
        async with AsyncHolt(service.url, "k") as holt:
            with pytest.raises(RateLimited) as caught:
                await holt.whoami()
    assert (len(service.requests), caught.value.retry_after_secs) == (1, 3600)


async def test_retries_end() -> None:
    with scripted(lambda request, number: refusal(503, "unavailable")) as service:
        async with AsyncHolt(service.url, "k", max_retries=2) as holt:
            with pytest.raises(Unavailable):
                await holt.whoami()
    assert len(service.requests) == 3


async def test_an_unknown_code_is_that_of_its_status() -> None:
    with scripted(lambda request, number: refusal(409, "brand_new")) as service:
        async with AsyncHolt(service.url, "k") as holt:
            with pytest.raises(Conflict) as caught:
                await holt.whoami()
    assert (caught.value.code, caught.value.wire_code) == ("conflict", "brand_new")


async def test_an_answer_of_a_proxy_is_an_error_of_its_status() -> None:
    with scripted(lambda request, number: Answer(500, body=b"<html>")) as service:
        async with AsyncHolt(service.url, "k") as holt:
            with pytest.raises(Internal, match="answered 500: <html>"):
                await holt.whoami()


async def test_hints_name_calls_of_this_client() -> None:
    hints = {
        "Send a valid key as Authorization: Bearer KEY.": "Pass api_key, or set HOLT_API_KEY, to a key of that service.",
        "List the runtimes: GET /v1/agents/runtime.": "List the runtimes: holt.runtimes.list().",
        "List the builds: GET /v1/agents/template/build.": "List the builds: holt.builds.list().",
    }
    for hint, ours in hints.items():
        with scripted(lambda request, number, hint=hint: refusal(404, "runtime_not_found", hint=hint)) as service:
            async with AsyncHolt(service.url, "k") as holt:
                with pytest.raises(RuntimeNotFound) as caught:
                    await holt.whoami()
        assert (caught.value.hint, caught.value.wire_hint) == (ours, hint)


async def test_a_wrong_field_is_named_as_an_option_and_a_secret_is_not_repeated() -> None:
    issues = [{"pointer": "/allow/0/host", "message": "must be a host"}, {"pointer": "/name", "message": "is bad"}]
    message = "/allow/0/host must be a host; /name is bad"
    wrong = refusal(400, "invalid_request", message=message, details={"issues": issues})
    with scripted(lambda request, number: wrong) as service:
        async with AsyncHolt(service.url, "k") as holt:
            with pytest.raises(InvalidRequest) as caught:
                await holt.policies.create("bad name", allow=[{"host": "!"}])
    assert caught.value.message == "allow[0].host must be a host, got '!'; name is bad, got 'bad name'"


async def test_a_service_that_is_not_there_is_refused() -> None:
    with scripted(lambda request, number: Answer()) as service:
        pass
    async with AsyncHolt(service.url, "k", max_retries=1) as holt:
        with pytest.raises(HoltConnectionError) as caught:
            await holt.health()
    assert (caught.value.reason, caught.value.code) == ("refused", "connection_refused")


async def test_a_stream_that_breaks_goes_on_after_its_last_item() -> None:
    command_id = "cm" + "a" * 20
    start = {"type": "start", "cursor": 0, "command_id": command_id, "pid": 2}
    items = [
        {"type": "stdout", "cursor": 3, "data": "one", "encoding": "utf-8"},
        {"type": "unheard_of", "cursor": 4},
        {"type": "stdout", "cursor": 6, "data": "dHdv", "encoding": "base64"},
        {"type": "exit", "cursor": 6, "exit_code": 0, "signal": None, "timed_out": False},
        {"type": "end", "cursor": 6},
    ]

    def answer(request: Request, number: int) -> Answer:
        if request.method == "POST":
            text = events(start, items[0])
            return Answer(body=text + b"data: {" + b" " * (len(text) + 10), is_cut=True)
        assert request.path.endswith("output?cursor=3&follow=true")
        return Answer(body=events(*items[1:]))

    with scripted(answer) as service:
        async with AsyncHolt(service.url, "k") as holt:
            runtime = given_runtime(holt)
            async with runtime.commands.stream("true") as stream:
                found = [item async for item in stream]
    assert [item.data for item in found if isinstance(item, OutputData)] == ["one", "dHdv"]
    assert [item.type for item in found] == ["start", "stdout", "stdout", "exit", "end"]
    assert [request.method for request in service.requests] == ["POST", "GET"]


async def test_a_start_that_may_have_happened_is_not_repeated() -> None:
    with scripted(lambda request, number: Answer(body=b" " * 100, is_cut=True)) as service:
        async with AsyncHolt(service.url, "k") as holt:
            runtime = given_runtime(holt)
            with pytest.raises(HoltConnectionError, match="list the commands"):
                await runtime.commands.run("true")
    assert len(service.requests) == 1


async def test_a_hundred_commands_use_one_connection() -> None:
    items = events(
        {"type": "start", "cursor": 0, "command_id": "cm" + "a" * 20, "pid": 2},
        {"type": "exit", "cursor": 0, "exit_code": 0, "signal": None, "timed_out": False},
        {"type": "end", "cursor": 0},
    )

    def answer(request: Request, number: int) -> Answer:
        return Answer(body=items) if request.method == "POST" else Answer(json={"stdout_bytes": 0, "stderr_bytes": 0})

    with scripted(answer) as service:
        async with AsyncHolt(service.url, "k") as holt:
            runtime = given_runtime(holt)
            for _ in range(100):
                await runtime.commands.run("true")
    assert len(service.requests) == 200
    assert len({request.connection for request in service.requests}) == 1


async def test_a_health_check_sends_no_key() -> None:
    with scripted(lambda request, number: Answer(json={"status": "ok"})) as service:
        async with AsyncHolt(service.url, "k") as holt:
            await holt.health()
    assert "authorization" not in service.requests[0].headers


async def test_no_cookie_is_kept() -> None:
    cookie = {"set-cookie": "session=1; Path=/"}
    with scripted(lambda request, number: Answer(json={"status": "ok"}, headers=cookie)) as service:
        async with AsyncHolt(service.url, "k") as holt:
            await holt.health()
            await holt.health()
    assert ["cookie" in request.headers for request in service.requests] == [False, False]


@pytest.mark.parametrize("name", ["", ".", ".."])
async def test_a_name_never_leads_to_another_path(name: str) -> None:
    with scripted(lambda request, number: Answer(204, body=b"")) as service:
        async with AsyncHolt(service.url, "k") as holt:
            with pytest.raises(InvalidRequest, match="name cannot be"):
                await given_runtime(holt).commands.session(name).end()
            with pytest.raises(InvalidRequest, match="secret_id cannot be"):
                await holt.secrets.delete(name)
    assert service.requests == []


@pytest.mark.parametrize("url", ["https://Holt.example.com", "https://holt.example.com:443", "http://holt.example.com:80/"])
async def test_a_port_is_below_any_form_of_the_address(url: str) -> None:
    async with AsyncHolt(url, "k") as holt:
        ports = given_runtime(holt).ports
        place = f"{url.partition(':')[0]}://holt.example.com/v1/agents/runtime/{RUNTIME_ID}/ports/80/proxy"
        assert ports._address(80, "/a?b=..") == f"{place}/a?b=.."
        with pytest.raises(InvalidRequest, match="leads out"):
            ports._address(80, "/../../81/proxy/")


class Broken(httpx.AsyncByteStream):
    """A body that breaks off after its first part, by silence."""

    def __init__(self, part: bytes) -> None:
        self._part = part
        self.is_closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._part
        raise httpx.ReadTimeout("silence")

    async def aclose(self) -> None:
        self.is_closed = True


async def test_a_read_that_falls_silent_goes_on_after_its_last_byte() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        headers = {"content-length": "6", "etag": '"e"'}
        if "range" not in request.headers:
            return httpx.Response(200, headers=headers, stream=Broken(b"abc"))
        assert (request.headers["range"], request.headers["if-range"]) == ("bytes=3-5", '"e"')
        return httpx.Response(206, headers={**headers, "content-length": "3"}, content=b"def")

    async with AsyncHolt("http://127.0.0.1:1", "k") as holt:
        holt._transport._direct = httpx.MockTransport(answer)
        assert await given_runtime(holt).files.read("/a") == b"abcdef"


async def test_a_search_that_is_left_closes_its_connection() -> None:
    body = Broken(events(*({"type": "match", "cursor": 1, "match": {"path": path}} for path in ("/a", "/b"))))

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=body)

    async with AsyncHolt("http://127.0.0.1:1", "k") as holt:
        holt._transport._direct = httpx.MockTransport(answer)
        async with given_runtime(holt).files.search_stream("/") as items:
            async for _ in items:
                break
        assert body.is_closed


class SilentStream:
    """The stream of a port whose program says nothing."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        raise httpcore.ReadTimeout


async def test_a_port_that_is_silent_is_no_broken_connection() -> None:
    connection = AsyncPortConnection(httpx.Response(101, extensions={"network_stream": SilentStream()}))
    with pytest.raises(HoltConnectionError) as caught:
        await connection.read(timeout_secs=0.01)
    assert caught.value.reason == "timeout"


async def test_a_write_after_one_that_failed_begins_where_the_service_is() -> None:
    answers = [refusal(500, "internal"), Answer(json={"offset": 3}), Answer(json={"offset": 6})]
    with scripted(lambda request, number: answers[number]) as service:
        async with AsyncHolt(service.url, "k") as holt:
            data = decode(CommandData, {"command_id": "cm" + "a" * 20})
            command = AsyncCommand(holt._transport, RUNTIME_ID, data, 0)
            with pytest.raises(Internal):
                await command.write_stdin("one")
            await command.write_stdin("two")
    sent = [json.loads(request.body) for request in service.requests]
    assert [(b64decode(one["data"]), one.get("offset")) for one in sent] == [(b"one", 0), (b"", None), (b"two", 3)]


async def test_handles_are_members_of_sets() -> None:
    async with AsyncHolt("http://127.0.0.1:1", "k") as holt:
        assert len({given_runtime(holt), given_runtime(holt)}) == 1


async def test_a_wrong_address_is_refused_at_once() -> None:
    with pytest.raises(HoltError, match="not an http address"):
        AsyncHolt("ftp://example.com", "k")


async def test_a_closed_client_refuses_every_call() -> None:
    with scripted(lambda request, number: Answer(201, POLICY)) as service:
        holt = AsyncHolt(service.url, "k")
        await holt.policies.create("x")
        await holt.aclose()
        await holt.aclose()
        runtime = given_runtime(holt)
        with pytest.raises(Conflict, match="client is closed"):
            await holt.policies.create("x")
        with pytest.raises(Conflict, match="client is closed"):
            await runtime.files.read("/a")
        with pytest.raises(Conflict, match="client is closed"):
            await runtime.ports.request(8080)
        with pytest.raises(Conflict, match="client is closed"):
            await runtime.ports.connect(8080)
    assert len(service.requests) == 1


def given_runtime(holt: AsyncHolt) -> AsyncRuntime:
    """Returns the handle of a runtime of which the scripted service was not asked."""
    wire: dict[str, Any] = {"runtime_id": RUNTIME_ID, "state": "running", "ports": []}
    return AsyncRuntime(holt._transport, decode(RuntimeData, wire))


async def test_a_command_is_one_request(runtime: AsyncRuntime) -> None:
    sent: list[str] = []
    transport = runtime._transport
    send = transport._send_built

    async def counted(request: httpx.Request, *how: Any) -> httpx.Response:
        sent.append(f"{request.method} {request.url.path.rpartition('/')[2]}")
        return await send(request, *how)

    transport._send_built = counted  # type: ignore[method-assign]
    try:
        result = await runtime.commands.run("echo hi; exit 3")
    finally:
        transport._send_built = send
    assert sent == ["POST commands"]
    assert (result.state, result.exit_code, result.stdout, result.stdout_bytes) == ("exited", 3, "hi\n", 3)
    assert result.ended_at is not None and result.duration_ms is not None
    again = await runtime.commands.get(result.command_id)
    times = ("started_at", "ended_at", "duration_ms")
    names = [name for name in vars(decode(CommandData, again.to_dict())) if name not in times]
    assert {name: getattr(result, name) for name in names} == {name: getattr(again, name) for name in names}


class AsyncForgetful(httpx.AsyncBaseTransport):
    """A connection that loses the first answer to a request that changes something."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self.inner = inner
        self.sent: list[httpx.Request] = []
        self.on_lost: Callable[[], object] = lambda: None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self.inner.handle_async_request(request)
        if request.method in ("POST", "PUT"):
            self.sent.append(request)
            if len(self.sent) == 1:
                await response.aread()
                self.on_lost()
                raise httpx.ReadError("the connection was cut")
        return response


@pytest.fixture
async def forgetful(runtime: AsyncRuntime) -> AsyncIterator[AsyncForgetful]:
    """The connections of the shared client, which lose one answer."""
    transport = runtime._transport
    inner = transport._direct
    assert inner is not None
    lossy = transport._direct = AsyncForgetful(inner)
    yield lossy
    transport._direct = inner


async def test_a_lost_answer_makes_no_second_thing(runtime: AsyncRuntime, forgetful: AsyncForgetful) -> None:
    place = f"/tmp/lost-{uuid.uuid4().hex}"
    files = runtime.files

    async def start() -> None:
        command = await runtime.commands.start(f"echo once >> {place}/started; cat {place}/started")
        assert (await command.wait()).stdout == "once\n"

    steps = [
        lambda: files.make_directory(place, parents=False),
        lambda: files.symlink(f"{place}/link", "/etc"),
        lambda: files.write(f"{place}/file", "text", overwrite=False),
        lambda: files.write(f"{place}/empty", "", overwrite=False),
        lambda: files.copy(f"{place}/file", f"{place}/copy"),
        lambda: files.move(f"{place}/copy", f"{place}/moved"),
        start,
    ]
    for step in steps:
        forgetful.sent.clear()
        await step()
        assert len({request.headers.get("idempotency-key") for request in forgetful.sent}) == 1
    assert await files.read_text(f"{place}/file") == "text"
    assert await files.read_text(f"{place}/moved") == "text"
    with pytest.raises(AlreadyExists):
        await files.write(f"{place}/file", "other", overwrite=False)


async def test_a_lost_answer_to_a_context_makes_no_second_one(
    holt: AsyncHolt, forgetful: AsyncForgetful, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("a")
    context = await holt.builds.upload_context(tmp_path)
    assert context.context_id
    assert len({request.headers["idempotency-key"] for request in forgetful.sent}) == 1
    assert len(forgetful.sent) == 2


async def test_a_file_that_changes_after_a_lost_answer_is_sent_under_another_key(
    holt: AsyncHolt, forgetful: AsyncForgetful, tmp_path: Path
) -> None:
    file = tmp_path / "log"
    file.write_text("old")
    forgetful.on_lost = lambda: file.write_text("new")
    context = await holt.builds.upload_context(tmp_path)
    keys = [request.headers["idempotency-key"] for request in forgetful.sent]
    assert [key == keys[0] for key in keys] == [True, True, False]
    assert context.context_id


async def test_a_tree_whose_answer_was_lost_is_not_called_a_foreign_one(
    runtime: AsyncRuntime, forgetful: AsyncForgetful, tmp_path: Path
) -> None:
    (tmp_path / "a").write_text("a")
    place = f"/tmp/tree-{uuid.uuid4().hex}"
    with pytest.raises(HoltConnectionError) as caught:
        await runtime.files.upload(tmp_path, place)
    assert caught.value.reason == "lost"
    assert await runtime.files.read_text(f"{place}/a") == "a"
    with pytest.raises(AlreadyExists):
        await runtime.files.upload(tmp_path, place)


async def test_a_connection_has_the_options_that_end_it_when_its_host_is_gone(holt: AsyncHolt) -> None:
    response = await holt._transport.open("whoami")
    try:
        raw = response.extensions["network_stream"].get_extra_info("socket")
        assert raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
        # This option would also end the connection of a live program that does not read.
        assert raw.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 0
    finally:
        await response.aclose()


def test_a_system_without_the_options_of_tcp_has_the_common_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT"):
        monkeypatch.delattr(socket, name)
    assert keepalive_options() == [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]


async def test_the_wait_for_a_build_ends_in_time_while_its_log_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    build_id = "bd" + "a" * 20
    build: dict[str, Any] = {"build_id": build_id, "status": "building", "steps": [], "warnings": []}
    line = {"type": "log", "at": "2026-01-01T00:00:00.000Z", "level": "info", "step": 1}

    class Long(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for cursor in range(1_000):
                await sleep(0.001)
                yield events({**line, "cursor": cursor, "message": "x"})

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/logs"):
            build["status"] = "ready"  # The next poll ends a wait without a limit.
            return httpx.Response(200, stream=Long())
        return httpx.Response(200, json=build)

    async with AsyncHolt("http://127.0.0.1:1", "k") as holt:
        holt._transport._direct = httpx.MockTransport(answer)
        found = await holt.builds.get(build_id)
        told: list[object] = []
        # Time passes with the lines, so that the machine's speed has no influence.
        clock = SimpleNamespace(monotonic=lambda: 10.0 * len(told))
        monkeypatch.setattr("holt._async.wait_for_build.time", clock)
        with pytest.raises(Timeout) as caught:
            await found.wait(timeout_secs=30, on_log=told.append)
    assert len(told) == 3
    assert caught.value.details == {"build_id": build_id}
