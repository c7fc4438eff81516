"""Kernels that are installed beside those of the template, such as R's and Java's."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Bridge, Outcome, start_bridge

# A kernel that speaks the protocol, under the name of another language.
ARGV = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]


def install(directory: Path, name: str, **spec: object) -> None:
    place = directory / "kernels" / name
    place.mkdir(parents=True)
    (place / "kernel.json").write_text(json.dumps({"argv": ARGV, "display_name": name, "language": name, **spec}))


@pytest.fixture(scope="module")
def jupyter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("jupyter")
    install(directory, "ir", language="R", display_name="R 4")
    (directory / "kernels" / "broken").mkdir()
    (directory / "kernels" / "broken" / "kernel.json").write_text("{")
    return directory


@pytest.fixture(scope="module")
def own(jupyter: Path) -> Iterator[Bridge]:
    with start_bridge(JUPYTER_PATH=str(jupyter)) as started:
        yield started


def test_an_installed_kernel_is_found_by_its_language(own: Bridge) -> None:
    languages = own.ask("GET", "/health")[1]["languages"]
    assert {"language": "r", "display_name": "R 4", "running": False} in languages
    assert own.run("x = 41", language="r").lines[0]["context_id"] == "default-r"
    assert own.run("x + 1", language="R").result == "42"
    context_id = own.context(language="r")
    assert own.run("x", context_id=context_id).error["name"] == "NameError"


def test_a_run_in_it_is_interrupted_at_its_time_limit(own: Bridge) -> None:
    own.run("kept = 7", language="r")
    assert own.run("import time; time.sleep(600)", language="r", timeout_secs=1).status == "timed_out"
    assert own.run("kept", language="r").result == "7"


def test_a_run_in_it_has_no_variables_of_its_own(own: Bridge) -> None:
    status, answer = own.ask("POST", "/v1/runs", {"code": "1", "language": "r", "env": {"A": "1"}})
    assert (status, answer["code"]) == (400, "env_not_supported")


def test_a_kernel_is_found_that_was_installed_later(own: Bridge, jupyter: Path) -> None:
    assert own.ask("POST", "/v1/runs", {"code": "1", "language": "java"})[1]["code"] == "language_not_found"
    install(jupyter, "java", metadata={}, interrupt_mode="message")
    assert own.run("6 * 7", language="java").result == "42"


def test_a_kernel_that_cannot_start_ends_its_run_alone(own: Bridge, jupyter: Path) -> None:
    install(jupyter, "absent", argv=["/nonesuch/kernel", "{connection_file}"])
    install(jupyter, "failing", argv=[sys.executable, "-c", "import sys; sys.exit('it has no libraries')"])
    for language, told in (("absent", "No such file"), ("failing", "it has no libraries")):
        ran = own.run("1", language=language)
        assert (ran.status, ran.error["name"]) == ("kernel_died", "KernelNotStarted")
        assert told in ran.error["value"]
        status, answer = own.ask("POST", "/v1/contexts", {"language": language})
        assert (status, answer["code"]) == (500, "kernel_not_started")
    assert own.run("'alive'", language="r").result == "'alive'"


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("r", "display({'text/plain': 'x' * 33 * 2**20}, raw=True)"),
        ("r", "get_ipython().kernel.iopub_thread.send_multipart([b''] * 2000)"),
        ("python", "get_ipython().kernel.iopub_thread.send_multipart([b''] * 2000)"),
        ("python", "get_ipython().kernel.iopub_thread.socket.send_multipart([b'x' * 2**20] * 40)"),
    ],
)
def test_a_kernel_that_sends_too_much_at_once_ends_its_context_alone(own: Bridge, language: str, code: str) -> None:
    other, context_id = own.context(language=language), own.context(language=language)
    for one in (other, context_id):
        own.run("x = 41", context_id=one)
    ran = own.run(f"{code}\nimport time; time.sleep(60)", context_id=context_id)
    assert (ran.status, ran.error["name"], ran.end["state_lost"]) == ("kernel_died", "KernelKilled", True)
    assert "which is the limit. It was killed, and its variables are lost." in ran.error["value"]
    assert own.run("x", context_id=context_id).error["name"] == "NameError"
    assert own.run("x + 1", context_id=other).result == "42"
    for one in (other, context_id):
        own.ask("DELETE", f"/v1/contexts/{one}")


def test_a_kernel_that_does_not_wait_is_read_within_limits(own: Bridge) -> None:
    before = own.resident_mib()
    connection = own.connect()
    code = "for n in range(200): display({'text/plain': f'{n:04d}' + 'x' * 2**20}, raw=True)"
    connection.request("POST", "/v1/runs", json.dumps({"code": code, "language": "r", "run_id": "unread"}))
    answer = connection.getresponse()
    assert json.loads(answer.readline())["type"] == "start"
    most = 0
    until = time.monotonic() + 60
    while own.ask("GET", "/v1/contexts/default-r")[1]["state"] == "busy":
        assert time.monotonic() < until
        most = max(most, own.resident_mib() - before)
        time.sleep(0.05)
    # Its reader takes nothing, and still the run has ended: the oldest lines were dropped.
    connection.close()
    ran = Outcome(own.lines("/v1/runs/unread"))
    assert (ran.status, ran.end["truncated"]) == ("ok", True)
    assert ran.of("display")[-1]["data"]["text/plain"].startswith("0199")
    assert most < 200


def test_a_value_of_very_many_parts_is_left_out_before_it_is_read(own: Bridge) -> None:
    before = own.resident_mib()
    code = "display({'text/plain': 'a', 'application/json': [[]] * 3_000_000}, raw=True)\n'alive'"
    ran = own.run(code, language="r")
    (shown,) = ran.of("display")
    assert shown["data"] == {} and list(shown["metadata"]["holt_omitted"]) == ["*"]
    assert (ran.status, ran.result, ran.end["truncated"]) == ("ok", "'alive'", True)
    assert own.resident_mib() - before < 200


def test_a_kernel_of_another_protocol_does_not_start(own: Bridge, jupyter: Path) -> None:
    program = """
import json, socket, sys, time
told = json.load(open(sys.argv[1]))
with socket.create_server(("127.0.0.1", told["iopub_port"])) as listening:
    peer, _ = listening.accept()
    peer.sendall(b"HTTP/1.1 400 Bad Request" * 10)
    time.sleep(600)
"""
    install(jupyter, "foreign", argv=[sys.executable, "-c", program, "{connection_file}"])
    ran = own.run("1", language="foreign")
    assert (ran.status, ran.error["name"]) == ("kernel_died", "KernelNotStarted")
    assert "does not speak ZMTP 3" in ran.error["value"]


def test_the_end_of_a_long_log_is_told(own: Bridge, jupyter: Path) -> None:
    before = own.resident_mib()
    program = "import sys; [sys.stderr.write('x' * 2**20) for _ in range(300)]; sys.exit('the reason')"
    install(jupyter, "talkative", argv=[sys.executable, "-c", program])
    ran = own.run("1", language="talkative")
    assert "the reason" in ran.error["value"] and len(ran.error["value"]) < 3000
    assert own.resident_mib() - before < 100
