"""Readers that leave, return and are slow, and output without end."""

from __future__ import annotations

import ast
import json
import time

from conftest import ROOT, Bridge, Outcome
from holt_code.limits import MAX_MESSAGE_BYTES

MIB = 2**20


def test_a_run_goes_on_without_its_reader_which_can_return(bridge: Bridge) -> None:
    code = "import time\nfor i in range(5): print(i, flush=True); time.sleep(0.1)"
    with bridge.open("/v1/runs", {"code": code, "run_id": "left"}) as lines:
        seen = [next(lines), next(lines)]
    rest = bridge.lines(f"/v1/runs/left?cursor={seen[-1]['cursor']}")
    both = Outcome(seen + rest)
    assert both.text() == "0\n1\n2\n3\n4\n"
    assert [line["cursor"] for line in both.lines] == list(range(len(both.lines)))
    assert bridge.lines("/v1/runs/left") == both.lines
    assert bridge.lines("/v1/runs/left?cursor=999999") == [both.end]
    assert bridge.ask("GET", "/v1/runs/left?cursor=x")[0] == 400


def test_a_run_id_is_used_once(bridge: Bridge) -> None:
    assert bridge.run("1", run_id="once").status == "ok"
    assert bridge.ask("POST", "/v1/runs", {"code": "2", "run_id": "once"})[1]["code"] == "run_exists"


def test_a_reader_gets_all_of_a_flood_and_a_later_one_the_end(bridge: Bridge) -> None:
    code = "for i in range(20 * 1024): print(f'{i:08d}' + 'x' * 1015)"
    ran = bridge.run(code, run_id="flood")
    text = ran.text()
    assert (ran.status, len(text), ran.end["truncated"]) == ("ok", 20 * MIB, False)
    assert [int(line[:8]) for line in text.splitlines()] == list(range(20 * 1024))
    later = Outcome(bridge.lines("/v1/runs/flood"))
    assert later.end["truncated"] is True
    assert later.lines[0]["type"] == "dropped" and later.lines[0]["dropped_bytes"] > 4 * MIB
    assert 8 * MIB < len(later.text()) <= 16 * MIB
    assert text.endswith(later.text())


def test_a_slow_reader_holds_the_kernel_and_not_memory(bridge: Bridge) -> None:
    before = bridge.resident_mib()
    code = "import time\nfor i in range(400): print('x' * 2**20)\nprint('done')"
    connection = bridge.connect()
    connection.request("POST", "/v1/runs", json.dumps({"code": code, "run_id": "slow"}))
    answer = connection.getresponse()
    assert json.loads(answer.readline())["type"] == "start"
    most = 0
    until = time.monotonic() + 3
    while time.monotonic() < until:
        most = max(most, bridge.resident_mib() - before)
        time.sleep(0.1)
    status, _ = bridge.ask("GET", "/health")
    assert status == 200
    assert bridge.ask("GET", "/v1/contexts/default-python")[1]["state"] == "busy"
    connection.close()
    # Without a reader, only the last lines are kept.
    until = time.monotonic() + 60
    while bridge.ask("GET", "/v1/contexts/default-python")[1]["state"] == "busy":
        assert time.monotonic() < until
        time.sleep(0.1)
    ran = Outcome(bridge.lines("/v1/runs/slow"))
    assert ran.status == "ok" and ran.text().endswith("done\n")
    assert ran.end["truncated"] is True
    assert max(most, bridge.resident_mib() - before) < 150


def test_an_interrupt_ends_a_run_that_waits_for_its_reader(bridge: Bridge) -> None:
    connection = bridge.connect()
    body = {"code": "while True: print('x' * 1000)", "run_id": "endless"}
    connection.request("POST", "/v1/runs", json.dumps(body))
    assert connection.getresponse().readline()
    assert bridge.ask("POST", "/v1/runs/endless/interrupt", {})[0] == 200
    ran = Outcome(bridge.lines("/v1/runs/endless"))
    assert (ran.status, ran.end["state_lost"]) == ("interrupted", False)
    connection.close()


def test_a_large_value_is_left_out_and_named(bridge: Bridge) -> None:
    code = "from IPython.display import display\ndisplay({'text/plain': 'small', 'text/html': 'x' * 9 * 2**20}, raw=True)"
    ran = bridge.run(code)
    (shown,) = ran.of("display")
    assert shown["data"] == {"text/plain": "small"}
    assert shown["metadata"] == {"holt_omitted": {"text/html": 9 * MIB + 2}}
    assert ran.end["truncated"] is True


def test_a_value_of_too_many_parts_is_left_out_and_named(bridge: Bridge) -> None:
    code = """
from IPython.display import display
deep = []
for _ in range(60): deep = [deep]
display({"text/plain": "a", "application/json": list(range(300_000)), "application/vnd.deep+json": deep}, raw=True)
"""
    (shown,) = bridge.run(code).of("display")
    assert shown["data"] == {"text/plain": "a"}
    assert shown["metadata"] == {"holt_omitted": {"application/json": None, "application/vnd.deep+json": None}}


def test_a_display_above_the_limit_fails_and_the_variables_stay(bridge: Bridge) -> None:
    bridge.run("kept = 41")
    ran = bridge.run("from IPython.display import display\ndisplay({'text/html': 'x' * 33 * 2**20}, raw=True)")
    assert (ran.status, ran.error["name"], ran.end["state_lost"]) == ("error", "ValueError", False)
    assert "above the limit" in ran.error["value"]
    # An error whose message is too long loses the message, and not the variables.
    assert bridge.run("raise ValueError('x' * 33 * 2**20)").status == "error"
    assert bridge.run("kept + 1").result == "42"


def test_the_limit_of_the_kernel_is_that_of_the_bridge() -> None:
    source = ast.parse((ROOT / "python_kernel/holt_publishing.py").read_text())
    values = [node.value for node in source.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MAX_MESSAGE_BYTES"]
    assert [eval(ast.unparse(value)) for value in values] == [MAX_MESSAGE_BYTES]
