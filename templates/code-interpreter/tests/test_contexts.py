"""Contexts, and the languages of their kernels."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import Bridge, start_bridge


def test_the_bridge_reports_its_languages(bridge: Bridge) -> None:
    status, health = bridge.ask("GET", "/health")
    assert (status, health["ready"]) == (200, True)
    languages = {one["language"]: one["running"] for one in health["languages"]}
    assert languages["python"] is True
    assert {"bash", "javascript", "typescript"} <= set(languages)


def test_a_context_is_made_shown_and_deleted(bridge: Bridge, tmp_path: Path) -> None:
    status, made = bridge.ask("POST", "/v1/contexts", {"language": "Python", "cwd": str(tmp_path)})
    assert status == 200
    assert made == made | {"language": "python", "cwd": str(tmp_path), "state": "idle", "execution_count": 0}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", made["created_at"])
    path = f"/v1/contexts/{made['context_id']}"
    assert bridge.run("import os; os.getcwd()", context_id=made["context_id"]).result == repr(str(tmp_path))
    assert bridge.ask("GET", path)[1]["execution_count"] == 1
    assert made["context_id"] in [one["context_id"] for one in bridge.ask("GET", "/v1/contexts")[1]["contexts"]]
    assert bridge.ask("DELETE", path) == (200, {})
    for method, more in (("GET", ""), ("DELETE", ""), ("POST", "/restart"), ("POST", "/interrupt")):
        status, answer = bridge.ask(method, path + more)
        assert (status, answer["code"]) == (404, "context_not_found")


def test_a_repeated_create_makes_one_context(bridge: Bridge) -> None:
    answers: list[tuple[int, Any]] = []

    def create() -> None:
        answers.append(bridge.ask("POST", "/v1/contexts", {"context_id": "twice"}))

    threads = [threading.Thread(target=create) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(status for status, _ in answers) == [200, 409, 409]
    assert {answer["code"] for status, answer in answers if status == 409} == {"context_exists"}
    contexts = bridge.ask("GET", "/v1/contexts")[1]["contexts"]
    assert [(one["context_id"], one["state"]) for one in contexts if one["context_id"] == "twice"] == [("twice", "idle")]
    assert bridge.run("1", context_id="twice").result == "1"
    bridge.ask("DELETE", "/v1/contexts/twice")
    assert bridge.ask("POST", "/v1/contexts", {"context_id": "twice"})[0] == 200
    bridge.ask("DELETE", "/v1/contexts/twice")


def test_default_contexts_exist_from_their_first_use() -> None:
    with start_bridge("--warm", "python") as own:
        assert own.ask("GET", "/v1/contexts") == (200, {"contexts": []})
        assert own.ask("GET", "/v1/contexts/default-python")[0] == 404
        assert own.run("1").lines[0]["context_id"] == "default-python"
        assert own.run("2", context_id="default-bash").lines[0]["context_id"] == "default-bash"
        contexts = own.ask("GET", "/v1/contexts")[1]["contexts"]
        assert [one["context_id"] for one in contexts] == ["default-python", "default-bash"]
        assert own.ask("DELETE", "/v1/contexts/default-python")[0] == 200
        assert own.run("'anew'").result == "'anew'"


def test_a_restart_clears_the_state_and_keeps_the_id(bridge: Bridge) -> None:
    context_id = bridge.context()
    bridge.run("x = 1", context_id=context_id)
    status, made = bridge.ask("POST", f"/v1/contexts/{context_id}/restart")
    assert status == 200
    assert (made["context_id"], made["state"], made["execution_count"]) == (context_id, "idle", 0)
    ran = bridge.run("x", context_id=context_id)
    assert (ran.error["name"], ran.end["state_lost"]) == ("NameError", False)
    bridge.ask("DELETE", f"/v1/contexts/{context_id}")


def test_a_restart_ends_the_run_of_the_context(bridge: Bridge) -> None:
    context_id = bridge.context()
    with bridge.open("/v1/runs", {"code": "import time; time.sleep(600)", "context_id": context_id}) as lines:
        next(lines)
        while bridge.ask("GET", f"/v1/contexts/{context_id}")[1]["state"] != "busy":
            pass
        assert bridge.ask("POST", f"/v1/contexts/{context_id}/restart")[0] == 200
        end = list(lines)[-1]
    assert (end["status"], end["state_lost"]) == ("interrupted", True)
    assert bridge.run("1", context_id=context_id).result == "1"
    bridge.ask("DELETE", f"/v1/contexts/{context_id}")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"language": "cobol"}, "language_not_found"),
        ({"language": 1}, "invalid_request"),
        ({"cwd": "/nonesuch"}, "invalid_request"),
        ({"cwd": "a\0b"}, "invalid_request"),
        ({"context_id": "default-python"}, "invalid_request"),
        ({"context_id": "a/b"}, "invalid_request"),
        ({"context_id": ""}, "invalid_request"),
    ],
)
def test_wrong_contexts_are_refused(bridge: Bridge, body: object, code: str) -> None:
    status, answer = bridge.ask("POST", "/v1/contexts", body)
    assert (status, answer["code"]) == (400, code)


def test_bash_runs_and_keeps_its_state(bridge: Bridge) -> None:
    assert bridge.run("X=5; cd /", language="bash").status == "ok"
    assert bridge.run('echo "$X $PWD"', language="sh").text().strip() == "5 /"
    env = {"HOLT_B": "it's $X \"here\""}
    assert bridge.run('echo "$HOLT_B"', language="bash", env=env).text().strip() == env["HOLT_B"]
    assert bridge.run('echo "[${HOLT_B-gone}]"', language="bash").text().strip() == "[gone]"


@pytest.mark.parametrize("language", ["javascript", "typescript"])
def test_javascript_runs_and_keeps_its_state(bridge: Bridge, language: str) -> None:
    typed = ": number" if language == "typescript" else ""
    assert bridge.run(f"let x{typed} = 40; const later = await Promise.resolve(2)", language=language).status == "ok"
    ran = bridge.run("console.log('out'); console.error('err'); x + later", language=language)
    assert ran.result == "42"
    assert (ran.text(), ran.text("stderr")) == ("out\n", "err\n")
    failed = bridge.run("throw new TypeError('no')", language=language)
    assert failed.status == "error"
    assert "no" in failed.error["value"] + "".join(failed.error["traceback"])
    env = {"HOLT_J": "here"}
    assert bridge.run("Deno.env.get('HOLT_J')", language=language, env=env).result.strip("'\"") == "here"
    assert bridge.run("Deno.env.get('HOLT_J') === undefined", language=language).result == "true"
    endless = bridge.run("while (true) {}", language=language, timeout_secs=0.5)
    assert endless.status == "timed_out"
    assert bridge.run("1 + 1", language=language).result == "2"
