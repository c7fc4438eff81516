"""The routes of E2B's code interpreter."""

from __future__ import annotations

import json

from conftest import Bridge


def execute(bridge: Bridge, **body: object) -> list[dict[str, object]]:
    status, text = bridge.ask("POST", "/execute", body)
    assert status == 200, text
    return [json.loads(line) for line in text.splitlines()]


def test_an_execution_answers_lines_of_e2b(bridge: Bridge) -> None:
    lines = execute(bridge, code="print('a')\nimport os\nos.environ['E']", env_vars={"E": "f"}, context_id=None)
    assert [line["type"] for line in lines] == ["stdout", "result", "number_of_executions", "end_of_execution"]
    assert lines[0]["text"] == "a\n" and str(lines[0]["timestamp"]).endswith("Z")
    assert lines[1] == {"type": "result", "is_main_result": True, "text": "'f'"}
    failed = execute(bridge, code="1/0")
    assert failed[0]["name"] == "ZeroDivisionError"
    assert "division by zero" in str(failed[0]["traceback"])


def test_contexts_of_e2b(bridge: Bridge) -> None:
    status, made = bridge.ask("POST", "/contexts", {"cwd": "/"})
    assert (status, made["language"], made["cwd"]) == (200, "python", "/")
    assert made in bridge.ask("GET", "/contexts")[1]
    execute(bridge, code="x = 1", context_id=made["id"])
    assert bridge.ask("POST", f"/contexts/{made['id']}/restart") == (200, None)
    assert execute(bridge, code="x", context_id=made["id"])[0]["name"] == "NameError"
    assert bridge.ask("DELETE", f"/contexts/{made['id']}") == (200, None)
    assert bridge.ask("DELETE", f"/contexts/{made['id']}")[0] == 404


def test_errors_of_e2b_are_text(bridge: Bridge) -> None:
    assert bridge.ask("POST", "/execute", {"code": "1", "language": "python", "context_id": "default-python"})[0] == 400
    assert bridge.ask("POST", "/execute", {"code": "1", "context_id": "nobody"})[0] == 404
    status, text = bridge.ask("POST", "/execute", {"code": "1", "language": "cobol"})
    assert (status, isinstance(text, str)) == (500, True)


def test_a_client_of_e2b_that_leaves_ends_its_execution(bridge: Bridge) -> None:
    context_id = bridge.context()
    connection = bridge.connect()
    body = {"code": "import time; print(1, flush=True); time.sleep(600)", "context_id": context_id}
    connection.request("POST", "/execute", json.dumps(body))
    assert connection.getresponse().readline()
    connection.close()
    assert bridge.run("'free'", context_id=context_id).result == "'free'"
    bridge.ask("DELETE", f"/v1/contexts/{context_id}")
