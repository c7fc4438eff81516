"""Runs of Python code, through the bridge and a real kernel."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from conftest import Bridge, Outcome


def test_a_run_answers_the_value_of_its_last_expression(bridge: Bridge) -> None:
    ran = bridge.run("1 + 1")
    assert [line["type"] for line in ran.lines] == ["start", "result", "end"]
    assert ran.lines[0]["context_id"] == "default-python"
    assert ran.lines[1] | {"cursor": 1} == {
        **{"type": "result", "data": {"text/plain": "2"}, "metadata": {}, "main": True, "cursor": 1},
    }
    assert ran.status == "ok"
    assert ran.end["execution_count"] > 0
    assert ran.end["truncated"] is False
    assert ran.end["state_lost"] is False


def test_cursors_increase_by_one(bridge: Bridge) -> None:
    ran = bridge.run("import sys\nfor i in range(3): print(i, flush=True); print(i, file=sys.stderr, flush=True)")
    assert [line["cursor"] for line in ran.lines] == list(range(len(ran.lines)))


def test_output_comes_in_its_streams(bridge: Bridge) -> None:
    ran = bridge.run("import os, sys\nprint('out')\nprint('err', file=sys.stderr)\nos.system('echo of a program')")
    assert "out\n" in ran.text() and "of a program\n" in ran.text()
    assert ran.text("stderr") == "err\n"


def test_displays_come_before_the_result(bridge: Bridge) -> None:
    code = """
from IPython.display import HTML, JSON, Image, Latex, Markdown, Math, SVG, Javascript, clear_output, display
handle = display(HTML("<b>1</b>"), display_id="a")
display(Markdown("*2*"), Latex("$3$"), JSON({"four": [4, None]}), Javascript("5"))
display(SVG("<svg xmlns='http://www.w3.org/2000/svg'/>"))
display(Image(data=bytes([137, 80, 78, 71, 13, 10, 26, 10]), format="png"))
handle.update(HTML("<b>6</b>"))
clear_output(wait=True)
7
"""
    ran = bridge.run(code)
    assert ran.status == "ok", ran.lines
    shown = [line["data"] for line in ran.of("display")]
    assert shown[0]["text/html"] == "<b>1</b>"
    assert shown[1]["text/markdown"] == "*2*"
    assert shown[2]["text/latex"] == "$3$"
    assert shown[3]["application/json"] == {"four": [4, None]}
    assert shown[4]["application/javascript"] == "5"
    assert shown[5]["image/svg+xml"].startswith("<svg")
    assert shown[6]["image/png"] == "iVBORw0KGgo="
    assert [line["display_id"] for line in ran.of("update_display")] == ["a"]
    assert ran.of("clear_output")[0]["wait"] is True
    assert ran.result == "7"
    assert all(line["main"] is False for line in ran.of("display"))


def test_an_error_has_its_name_and_a_traceback_without_colors(bridge: Bridge) -> None:
    ran = bridge.run("def f(): return 1 / 0\nf()")
    assert ran.status == "error"
    assert (ran.error["name"], ran.error["value"]) == ("ZeroDivisionError", "division by zero")
    assert any("return 1 / 0" in frame for frame in ran.error["traceback"])
    assert "\x1b" not in "".join(ran.error["traceback"])


@pytest.mark.parametrize("code", ["def", "raise SystemExit(3)", "input()", "%no_such_magic", "1 +"])
def test_code_that_fails_ends_as_an_error(bridge: Bridge, code: str) -> None:
    ran = bridge.run(code)
    assert ran.status in ("error", "ok")
    assert bridge.run("'alive'").result == "'alive'"


def test_help_is_shown(bridge: Bridge) -> None:
    shown = bridge.run("len?").of("display")
    assert "number of items" in shown[0]["data"]["text/plain"]


def test_variables_stay_in_their_context(bridge: Bridge) -> None:
    one, other = bridge.context(), bridge.context()
    assert bridge.run("x = 41", context_id=one).status == "ok"
    assert bridge.run("x + 1", context_id=one).result == "42"
    assert bridge.run("x", context_id=other).error["name"] == "NameError"
    for context_id in (one, other):
        bridge.ask("DELETE", f"/v1/contexts/{context_id}")


def test_variables_of_a_run_end_with_it(bridge: Bridge) -> None:
    read = "import os\nos.environ.get('HOLT_A')"
    assert bridge.run(read, env={"HOLT_A": "it's \"here\" $HOME"}).result == repr("it's \"here\" $HOME")
    assert bridge.run(read).of("result") == []
    assert bridge.run("os.environ['HOLT_A'] = 'mine'").status == "ok"
    assert bridge.run(f"{read}", env={"HOLT_A": "other"}).result == "'other'"
    assert bridge.run("os.environ.pop('HOLT_A')").result == "'mine'"


def test_runs_of_one_context_take_turns(bridge: Bridge) -> None:
    order: list[Outcome] = []
    bridge.run("import time; seen = []")
    with bridge.open("/v1/runs", {"code": "time.sleep(1); seen.append(1)"}) as first:
        assert next(first)["type"] == "start"
        threads = [threading.Thread(target=lambda: order.append(bridge.run("seen.append(len(seen) + 1)")))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert list(first)[-1]["status"] == "ok"
    assert [line["type"] for line in order[0].lines[:2]] == ["start", "queued"]
    assert bridge.run("seen").result == "[1, 2]"


def test_a_run_that_waits_can_be_interrupted(bridge: Bridge) -> None:
    bridge.run("import time")
    with bridge.open("/v1/runs", {"code": "time.sleep(600)", "run_id": "long-one"}) as first:
        next(first)
        with bridge.open("/v1/runs", {"code": "1", "run_id": "waits"}) as second:
            assert [next(second)["type"], next(second)["type"]] == ["start", "queued"]
            assert bridge.ask("POST", "/v1/runs/waits/interrupt", {})[0] == 200
            assert list(second)[-1]["status"] == "interrupted"
        assert bridge.ask("POST", "/v1/runs/long-one/interrupt", {})[0] == 200
        assert list(first)[-1]["status"] == "interrupted"


def test_a_time_limit_interrupts_and_keeps_the_state(bridge: Bridge) -> None:
    context_id = bridge.context()
    bridge.run("x = 'kept'; import time", context_id=context_id)
    ran = bridge.run("time.sleep(600)", context_id=context_id, timeout_secs=0.2)
    assert (ran.status, ran.end["state_lost"]) == ("timed_out", False)
    assert ran.error["name"] == "KeyboardInterrupt"
    assert bridge.run("x", context_id=context_id).result == "'kept'"
    bridge.ask("DELETE", f"/v1/contexts/{context_id}")


def test_a_run_that_cannot_be_interrupted_loses_its_kernel_and_no_other(bridge: Bridge) -> None:
    context_id = bridge.context()
    bridge.run("y = 'kept'")
    code = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
print("ready", flush=True)
while True: pass
"""
    with bridge.open("/v1/runs", {"code": code, "context_id": context_id, "run_id": "stubborn"}) as lines:
        while next(lines).get("text") != "ready\n":
            pass
        assert bridge.ask("POST", f"/v1/contexts/{context_id}/interrupt")[0] == 200
        ran = Outcome(list(lines))
    assert (ran.status, ran.end["state_lost"]) == ("interrupted", True)
    assert ran.error["name"] == "KernelKilled"
    after = bridge.run("'again'", context_id=context_id)
    assert (after.result, after.end["state_lost"]) == ("'again'", False)
    assert bridge.run("y").result == "'kept'"
    bridge.ask("DELETE", f"/v1/contexts/{context_id}")


@pytest.mark.parametrize(
    ("code", "how"),
    [
        ("import os; print('before', flush=True); os._exit(3)", "exit code 3"),
        ("import os; os.kill(os.getpid(), 11)", "signal 11"),
        ("import os; os.kill(os.getpid(), 9)", "signal 9"),
    ],
)
def test_a_kernel_that_dies_is_reported(bridge: Bridge, code: str, how: str) -> None:
    context_id = bridge.context()
    bridge.run("y = 'kept'")
    ran = bridge.run(code, context_id=context_id)
    assert (ran.status, ran.end["state_lost"], ran.end["execution_count"]) == ("kernel_died", True, None)
    assert how in ran.error["value"]
    assert bridge.run("'again'", context_id=context_id).result == "'again'"
    assert bridge.run("y").result == "'kept'"
    bridge.ask("DELETE", f"/v1/contexts/{context_id}")


def test_a_kernel_that_died_between_runs_is_reported_by_the_next_one(bridge: Bridge) -> None:
    context_id = bridge.context()
    code = "import os, threading; threading.Timer(0.2, lambda: os._exit(0)).start()"
    assert bridge.run(code, context_id=context_id).status == "ok"
    status = ""
    while status != "dead":
        status = bridge.ask("GET", f"/v1/contexts/{context_id}")[1]["state"]
    ran = bridge.run("2", context_id=context_id)
    assert (ran.status, ran.result, ran.end["state_lost"]) == ("ok", "2", True)
    assert bridge.run("3", context_id=context_id).end["state_lost"] is False
    bridge.ask("DELETE", f"/v1/contexts/{context_id}")


def test_what_the_kernel_sends_is_not_trusted(bridge: Bridge) -> None:
    code = """
kernel = get_ipython().kernel
for frames in ([b"junk"], [b"<IDS|MSG>"], [b"<IDS|MSG>", b"", b"{", b"{}", b"{}", b"{}"], [b"a", b"<IDS|MSG>", b"0"] + [b"[]"] * 4):
    kernel.iopub_socket.send_multipart(frames)
parent = kernel.get_parent()
for content in ({}, {"data": 3, "metadata": [], "transient": 1}, {"name": "stdout", "text": 5}, {"data": {"text/plain": {"a": float("nan")}}}):
    for kind in ("stream", "display_data", "execute_result", "error", "clear_output", "update_display_data", "nonesuch"):
        kernel.session.send(kernel.iopub_socket, kind, content, parent=parent)
print("through")
"""
    ran = bridge.run(code)
    assert ran.status == "ok"
    assert "through" in ran.text()
    assert bridge.run("1").result == "1"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "invalid_request"),
        (b"[]", "invalid_request"),
        ({}, "invalid_request"),
        ({"code": 1}, "invalid_request"),
        ({"code": "1", "timeout_secs": 0}, "invalid_request"),
        ({"code": "1", "timeout_secs": True}, "invalid_request"),
        ({"code": "1", "timeout_secs": "1"}, "invalid_request"),
        ({"code": "1", "env": {"A B": "1"}}, "invalid_request"),
        ({"code": "1", "env": {"A": 1}}, "invalid_request"),
        ({"code": "1", "env": []}, None),
        ({"code": "1", "run_id": "a/b"}, "invalid_request"),
        ({"code": "1", "language": "cobol"}, "language_not_found"),
        ({"code": "1", "context_id": "nobody"}, "context_not_found"),
        ({"code": "1", "context_id": "default-python", "language": "bash"}, "invalid_request"),
        ({"code": "1", "unknown": True, "language": None, "context_id": None}, None),
        (b"[" * 100_000, "invalid_request"),
        (b'{"code": "\\ud800"}', "invalid_request"),
    ],
)
def test_requests_are_checked(bridge: Bridge, body: Any, code: str | None) -> None:
    status, answer = bridge.ask("POST", "/v1/runs", body)
    if code is None:
        assert status == 200
    else:
        assert (status, answer["code"]) == (404 if code == "context_not_found" else 400, code)


def test_unknown_paths_and_large_bodies_are_refused(bridge: Bridge) -> None:
    assert bridge.ask("GET", "/v1/nothing")[1]["code"] == "not_found"
    assert bridge.ask("GET", "/v1/runs/nobody")[1]["code"] == "run_not_found"
    status, answer = bridge.ask("POST", "/v1/runs", {"code": "#" * 17 * 2**20})
    assert (status, answer["code"]) == (413, "too_large")
