"""Kernels that are installed beside those of the template, such as R's and Java's."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Bridge, start_bridge

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
