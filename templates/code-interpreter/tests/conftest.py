"""A bridge with real kernels on this machine, and a client of it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "bridge"), str(ROOT / "python_kernel")]

os.environ["PATH"] = ":".join(
    [str(Path(sys.executable).parent), os.environ.get("HOLT_TEST_CODE_PATH", ""), os.environ["PATH"]]
)

ANSWER_SECS = 120
"""A busy machine starts kernels slowly."""


class Bridge:
    """A client of the bridge."""

    def __init__(self, port: int, pid: int):
        self.port = port
        self.pid = pid

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=ANSWER_SECS)

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Returns the status and the JSON body of an answer, or its text."""
        connection = self.connect()
        try:
            text = body if isinstance(body, bytes) else None if body is None else json.dumps(body)
            connection.request(method, path, text)
            answer = connection.getresponse()
            content = answer.read().decode()
            is_json = answer.getheader("content-type", "").startswith("application/json")
            return answer.status, json.loads(content) if is_json else content
        finally:
            connection.close()

    def lines(self, path: str, body: Any = None) -> list[dict[str, Any]]:
        """Returns all lines of a run."""
        with self.open(path, body) as lines:
            return list(lines)

    @contextmanager
    def open(self, path: str, body: Any = None) -> Iterator[Iterator[dict[str, Any]]]:
        """Reads the lines of a run as they come. The reader leaves at the end of the block."""
        connection = self.connect()
        try:
            connection.request("GET" if body is None else "POST", path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            yield (json.loads(line) for line in answer)
        finally:
            connection.close()

    def run(self, code: str, **more: Any) -> Outcome:
        return Outcome(self.lines("/v1/runs", {"code": code, **more}))

    def context(self, **body: Any) -> str:
        status, made = self.ask("POST", "/v1/contexts", body)
        assert status == 200, made
        return str(made["context_id"])

    def resident_mib(self) -> int:
        """Returns the memory of the bridge."""
        fields = Path(f"/proc/{self.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") // 2**20


class Outcome:
    """The lines of a run, by what they are."""

    def __init__(self, lines: list[dict[str, Any]]):
        self.lines = lines
        self.end = lines[-1]
        assert self.end["type"] == "end", lines

    @property
    def status(self) -> str:
        return str(self.end["status"])

    def text(self, name: str = "stdout") -> str:
        return "".join(line["text"] for line in self.lines if line["type"] == name)

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["type"] == kind]

    @property
    def result(self) -> str:
        (line,) = self.of("result")
        return str(line["data"]["text/plain"])

    @property
    def error(self) -> dict[str, Any]:
        return self.of("error")[-1]


def bridge_environment() -> dict[str, str]:
    env = os.environ | {"PYTHONPATH": str(ROOT / "bridge")}
    env.pop("PYTEST_CURRENT_TEST", None)  # ipykernel captures no output of programs in a test.
    return env


@contextmanager
def start_bridge(*arguments: str, **variables: str) -> Iterator[Bridge]:
    """Starts a bridge of its own with more variables, and ends it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "holt_code", "--port", "0", "--kernels", str(ROOT / "kernels"), *arguments],
        env=bridge_environment() | variables,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        told = process.stdout.readline()
        assert told.startswith("listening on "), told
        yield Bridge(int(told.rsplit(":", 1)[1]), process.pid)
    finally:
        process.terminate()
        process.wait(ANSWER_SECS)


@pytest.fixture(scope="session")
def bridge() -> Iterator[Bridge]:
    with start_bridge("--warm", "python") as started:
        yield started
