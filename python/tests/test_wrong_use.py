"""Calls with wrong names and types: the error names the option and what it takes."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import PurePosixPath
from signal import Signals
from typing import Any, cast

import pytest
from holt import AsyncHolt, AsyncTemplate, Commands, Files, Holt, Template, Terminal
from holt._bodies import command_body, signal_name
from holt._models.command import OutputData
from holt._models.snapshot import Snapshot
from holt._output import Collected
from holt._sync.content import _counting
from holt._sync.trees import TransferCount
from scripted import Answer, Request, events, scripted

nowhere = Holt("http://127.0.0.1:1", "k")
"""A client whose requests all fail: a wrong call has to be refused before its request."""

anything = cast(Any, None)


def given_commands() -> Any:
    return Commands(nowhere._transport, "rt1")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: given_commands().start("true", timout_secs=1), r"start\(\) .* 'timout_secs'. Did you mean 'timeout_secs'\?"),
        (lambda: given_commands().stream("true", on_stdout=print), r"stream\(\) .* 'on_stdout'"),
        (lambda: given_commands().session("s").run("true", evn={}), r"run\(\) .* 'evn'. Did you mean 'env'\?"),
        (lambda: cast(Any, nowhere.runtimes).dry_run(nmae="x"), r"dry_run\(\) .* 'nmae'. Did you mean 'name'\?"),
        (lambda: cast(Any, nowhere.runtimes).get_or_create("x", memry=1), r"get_or_create\(\) .* 'memry'. Did you mean 'memory'\?"),
        (lambda: given_commands().run(None), "command must be a text or a list of arguments, not NoneType"),
        (lambda: given_commands().run(b"true"), "command must be a text or a list of arguments, not bytes"),
        (lambda: given_commands().run("cat", stdin=b"x"), "stdin must be a text; .* write_stdin, not bytes"),
        (lambda: given_commands().run("cat", stdin=io.StringIO("x")), "stdin must be a text; .*, not StringIO"),
        (lambda: given_commands().run("tty", pty=True), r"\(columns, rows\), such as \(80, 24\), not True"),
        (lambda: given_commands().run("tty", pty="80x24"), r"\(columns, rows\), such as \(80, 24\), not '80x24'"),
        (lambda: signal_name(cast(Any, 15)), "signal must be a text, not int"),
        (lambda: nowhere.runtimes.get(anything), "runtime must be a text, not NoneType"),
        (lambda: nowhere.snapshots.delete(cast(Any, Snapshot)), "snapshot_id must be a text, not type"),
        (lambda: Template(), r"Template\.from_image\(\.\.\.\) or Template\.from_template"),
        (lambda: AsyncTemplate(cast(Any, "web")), r"AsyncTemplate\.from_image\(\.\.\.\)"),
        (lambda: Template.from_template("t").run(cast(Any, ["a", "b"])), "The command of run must be a text, not list"),
        (lambda: Template.from_template("t").build(client=cast(Any, AsyncHolt("http://127.0.0.1:1"))), "class Holt, not AsyncHolt"),
        (lambda: Template.from_dockerfile("FROM x\n").check(client=cast(Any, "x")), "class Holt, not str"),
    ],
)
def test_a_wrong_call_is_refused_before_its_request(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (5, "text, bytes, a Path or an iterable of bytes, not int"),
        (PurePosixPath("/x"), "text, bytes, a Path or an iterable of bytes, not PurePosixPath"),
    ],
)
def test_content_that_is_not_bytes_is_refused(content: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Files(nowhere._transport, "rt1").write("/tmp/x", content)


@pytest.mark.parametrize(
    ("chunks", "message"),
    [(io.StringIO("text"), "yields text, not bytes. Open a file with the mode 'rb'"), ([1], "yields int, not bytes")],
)
def test_a_chunk_that_is_not_bytes_is_refused(chunks: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        list(_counting(chunks, 0, None))


def wait_for_scripted_build(**options: Any) -> None:
    """Waits for a build that is ready, and whose log has one line."""

    def answer(request: Request, number: int) -> Answer:
        if "/logs" in request.path:
            return Answer(body=events({"type": "log", "cursor": 1, "message": "x"}, {"type": "end", "cursor": 1}))
        return Answer(json={"build_id": "bd1", "status": "ready", "steps": []})

    with scripted(answer) as service, Holt(service.url, "k") as holt:
        holt.builds.get("bd1").wait(**options)


async def never(*values: object) -> None:
    raise AssertionError(values)


@pytest.mark.parametrize(
    "call",
    [
        lambda: Collected(never).take(OutputData(type="stdout", cursor=1, data="x", encoding="utf-8")),
        lambda: TransferCount(never, 1, 1).add(1),
        lambda: b"".join(_counting([b"x"], 0, never)),
        lambda: Terminal(nowhere._transport, "rt1", "cm1", cursor=0, write=False, on_event=never)._tell(anything),
        lambda: wait_for_scripted_build(on_status=never),
        lambda: wait_for_scripted_build(on_log=never),
    ],
)
def test_a_callback_that_nothing_would_await_is_refused(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match="plain function, not `async def`"):
        call()


def test_a_signal_of_python_has_its_name() -> None:
    assert [signal_name(Signals.SIGINT), signal_name("SIGRTMIN+1")] == ["SIGINT", "SIGRTMIN+1"]


def test_a_list_and_a_stream_say_how_they_are_read() -> None:
    assert repr(nowhere.runtimes.list()) == "<Paginated: loop over it, or call all() or page()>"
    assert repr(nowhere.events.follow()) == "<Items: loop over it>"
    assert repr(AsyncHolt("http://127.0.0.1:1").keys.list()).startswith("<AsyncPaginated: ")


def test_a_description_shows_its_calls() -> None:
    site = Template.from_template("base-small").run("true").copy("a", "/srv/", chown="user").env(A="b").name("site")
    shown = "Template.from_template('base-small').run('true').copy('a', '/srv/', chown='user').env({'A': 'b'}).name('site')"
    assert repr(site) == shown
    assert eval(shown)._spec == site._spec


def test_options_of_a_command_that_are_right_are_taken() -> None:
    body = command_body((PurePosixPath("/bin/cat"), "x"), background=True, stdin=True, pty=(80, 24))
    assert body == {"argv": ["/bin/cat", "x"], "background": True, "stdin": True, "pty": {"cols": 80, "rows": 24}}
