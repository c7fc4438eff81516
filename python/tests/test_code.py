"""Code that runs with the variables of earlier code, against a scripted service."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from holt import AsyncHolt, CodeResult, Holt, HoltConnectionError, Runtime
from holt.errors import CodeInterpreterMissing
from holt.models import CodeDisplay, CodeEnd, CodeItem, CodeOutput
from scripted import Answer, Request, scripted

RUN = "cr" + "a" * 20
START = {"type": "start", "run_id": RUN, "context_id": "default-python"}
END = {
    "type": "end",
    "status": "ok",
    "execution_count": 3,
    "duration_ms": 7,
    "state_lost": False,
    "truncated": False,
}


def display(kind: str = "display", **more: Any) -> dict[str, Any]:
    """Returns an item with a value."""
    return {"type": kind, "data": {"text/plain": "x"}, "metadata": {}, "main": kind == "result", **more}


def events(*items: dict[str, Any], after: int = -1, is_cut: bool = False) -> Answer:
    """Returns a stream of items, whose cursors are their places.

    One that is cut breaks after them.
    """
    placed = [{**item, "cursor": at} for at, item in enumerate(items)][after + 1 :]
    body = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in placed).encode()
    if is_cut:
        body += b":" * len(body)  # Half of a cut answer is sent.
    return Answer(body=body, headers={"content-type": "text/event-stream"}, is_cut=is_cut)


def runtime_of(holt: Holt) -> Runtime:
    """Returns a runtime without a request."""
    made: Any = object.__new__(Runtime)
    made._transport = holt._transport
    made.runtime_id = "rt" + "a" * 20
    return made


def run_scripted(answer: Callable[[Request, int], Answer], **options: Any) -> tuple[CodeResult, list[Request]]:
    """Runs code against a scripted service."""
    with scripted(answer) as service, Holt(service.url, "holt_x") as holt:
        return runtime_of(holt).code.run("x", **options), service.requests


def test_a_run_has_its_output_and_results() -> None:
    items = [
        START,
        {"type": "queued"},
        {"type": "stdout", "text": "out\n"},
        {"type": "stderr", "text": "err\n"},
        display("result", data={"text/plain": "42"}),
        {"type": "of-a-newer-service"},
        END,
    ]
    result, requests = run_scripted(lambda _, __: events(*items), language="javascript", timeout_secs=None)
    assert result.to_dict() == {
        "run_id": RUN,
        "context_id": "default-python",
        "status": "ok",
        "execution_count": 3,
        "duration_ms": 7,
        "state_lost": False,
        "stdout": "out\n",
        "stderr": "err\n",
        "results": [{"data": {"text/plain": "42"}, "metadata": {}, "main": True}],
        "error": None,
        "truncated": {"stdout": False, "stderr": False, "results": False},
    }
    assert requests[0].path.endswith("/contexts/run")
    assert json.loads(requests[0].body) == {"code": "x", "language": "javascript", "timeout_secs": 0}


def test_a_context_stands_in_the_path() -> None:
    _, requests = run_scripted(lambda _, __: events(START, END), context="ctx-1", env={"A": "b"})
    assert requests[0].path.endswith("/contexts/ctx-1/run")
    assert json.loads(requests[0].body) == {"code": "x", "env": {"A": "b"}}


def test_listeners_hear_everything_as_it_arrives() -> None:
    heard: list[str] = []

    def hear(one: CodeOutput) -> None:
        heard.append(one.data["text/plain"])

    items = [
        START,
        {"type": "stdout", "text": "é"},
        display(display_id="a"),
        display("update_display", display_id="a", data={"text/plain": "y"}),
        {"type": "stderr", "text": "b"},
        END,
    ]
    result, _ = run_scripted(
        lambda _, __: events(*items),
        on_stdout=heard.append,
        on_stderr=heard.append,
        on_result=hear,
    )
    assert heard == ["é", "x", "y", "b"]
    assert [one.data for one in result.results] == [{"text/plain": "y"}]


@pytest.mark.parametrize(
    ("items", "shown"),
    [
        ([display(), {"type": "clear_output", "wait": False}], 0),
        ([display(), {"type": "clear_output", "wait": True}], 1),
        ([display(), {"type": "clear_output", "wait": True}, {"type": "stdout", "text": "x"}], 0),
        ([display(), {"type": "clear_output", "wait": True}, display()], 1),
        ([display("update_display", display_id="unknown")], 0),
    ],
)
def test_cleared_displays_are_gone(items: list[dict[str, Any]], shown: int) -> None:
    result, _ = run_scripted(lambda _, __: events(START, *items, END))
    assert len(result.results) == shown


def test_the_limits_of_a_result_are_kept_and_told() -> None:
    large = display(data={"text/html": "h" * 1000, "text/plain": "small"})
    items = [START, {"type": "stdout", "text": "abc"}, large, END]
    result, _ = run_scripted(lambda _, __: events(*items), max_output_bytes=2, max_result_bytes=100)
    assert result.stdout == "ab"
    assert result.results[0].data == {"text/plain": "small"}
    assert (result.truncated.stdout, result.truncated.stderr, result.truncated.results) == (True, False, True)


def test_a_failure_of_code_is_a_result() -> None:
    error = {"type": "error", "name": "ValueError", "value": "no", "traceback": ["ValueError: no"]}
    result, _ = run_scripted(lambda _, __: events(START, error, {**END, "status": "error"}))
    assert result.status == "error"
    assert result.error is not None
    assert (result.error.name, result.error.value) == ("ValueError", "no")


def test_a_stream_continues_after_the_last_item() -> None:
    items = [START, {"type": "stdout", "text": "a"}, {"type": "stdout", "text": "b"}, END]

    def answer(_: Request, number: int) -> Answer:
        return events(*items[:2], is_cut=True) if number == 0 else events(*items, after=1)

    with scripted(answer) as service, Holt(service.url, "holt_x") as holt:
        found = list(runtime_of(holt).code.stream("x"))
        assert [one.type for one in found] == ["start", "stdout", "stdout", "end"]
        assert service.requests[1].path.endswith(f"/contexts/runs/{RUN}?cursor=1")


def test_a_break_before_the_start_is_told() -> None:
    with pytest.raises(HoltConnectionError, match="start of the run"):
        run_scripted(lambda _, __: events(is_cut=True))


def test_a_block_that_is_left_interrupts_the_run() -> None:
    def answer(request: Request, _: int) -> Answer:
        if request.path.endswith("/interrupt"):
            return Answer(204, body=b"")
        return events(START, {"type": "stdout", "text": "a"})

    with scripted(answer) as service, Holt(service.url, "holt_x") as holt:
        with runtime_of(holt).code.stream("x") as items:
            assert next(items).type == "start"
        assert service.requests[-1].path.endswith(f"/contexts/runs/{RUN}/interrupt")
        before = len(service.requests)
        with runtime_of(holt).code.stream("x", on_cancel="leave") as items:
            next(items)
        assert len(service.requests) == before + 1


def test_a_missing_interpreter_is_an_error_with_its_remedy() -> None:
    error = {"code": "code_interpreter_missing", "message": "none", "request_id": "rq"}
    with pytest.raises(CodeInterpreterMissing) as raised:
        run_scripted(lambda _, __: Answer(409, {"error": error}))
    assert "code-interpreter" in str(raised.value.hint)


@pytest.mark.anyio
async def test_the_asynchronous_client_runs_code() -> None:
    from holt import AsyncRuntime

    with scripted(lambda _, __: events(START, display("result"), END)) as service:
        async with AsyncHolt(service.url, "holt_x") as holt:
            made: Any = object.__new__(AsyncRuntime)
            made._transport = holt._transport
            made.runtime_id = "rt1"
            result = await made.code.run("x")
            assert isinstance(result, CodeResult)
            assert result.results[0].data == {"text/plain": "x"}


class TestNotebook:
    unsafe = {
        "text/html": "<script>alert(1)</script>",
        "application/javascript": "alert(1)",
        "image/svg+xml": "<svg onload='alert(1)'/>",
        "text/markdown": "<img src=x onerror=alert(1)>",
    }
    safe = {"text/plain": "x", "image/png": "aGk=", "image/jpeg": "aGk=", "text/latex": "$x$"}

    def test_a_result_shows_only_forms_that_run_no_scripts(self) -> None:
        shown: Any = CodeOutput(data={**self.unsafe, **self.safe}, metadata={}, main=True)
        assert shown._repr_mimebundle_() == self.safe
        item: Any = CodeDisplay(type="display", cursor=1, data=self.unsafe, metadata={}, main=False)
        assert item._repr_mimebundle_() == {}

    def test_a_run_is_shown_as_a_cell_shows_its_own(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shown: list[object] = []
        module: Any = type(sys)("IPython.display")
        module.display = shown.append
        monkeypatch.setitem(sys.modules, "IPython.display", module)
        error: dict[str, Any] = {"type": "error", "name": "E", "value": "v", "traceback": []}
        items: list[dict[str, Any]] = [START, {"type": "stdout", "text": "out"}, display(), error, END]
        result: Any = run_scripted(lambda _, __: events(*items))[0]
        result._ipython_display_()
        assert shown == result.results
        assert capsys.readouterr() == ("out", "E: v\n")

    def test_the_text_of_a_result_names_what_it_has(self) -> None:
        assert repr(CodeOutput(data={"text/plain": "x"}, metadata={}, main=True)) == (
            "CodeOutput(data={'text/plain': 'x'}, main=True)"
        )


def test_items_are_told_apart_by_their_type() -> None:
    seen: list[CodeItem] = []
    with scripted(lambda _, __: events(START, END)) as service, Holt(service.url, "holt_x") as holt:
        seen.extend(runtime_of(holt).code.read(RUN))
    assert isinstance(seen[-1], CodeEnd)
