"""A bridge that is killed, and the one that takes its place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ANSWER_SECS, ROOT, Bridge, bridge_environment
from holt_code.memory import ContextMemory

START = "import runpy, sys; runpy.run_path(sys.argv[1])['main'](0, '--kernels', sys.argv[2])"


class Supervised(Bridge):
    """A bridge under the program that starts it again."""

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        (child,) = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        os.kill(int(child), number)


@pytest.fixture
def supervised() -> Iterator[Supervised]:
    temporary = tempfile.TemporaryDirectory()  # Addresses of sockets are short.
    process = subprocess.Popen(
        [sys.executable, "-IS", "-c", START, str(ROOT / "bridge/start"), str(ROOT / "kernels")],
        env=bridge_environment() | {"TMPDIR": temporary.name},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        yield Supervised(int(process.stdout.readline().rsplit(":", 1)[1]), process.pid)
    finally:
        process.kill()
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(ANSWER_SECS)
        temporary.cleanup()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_next_run_after_a_kill_works_and_reports_the_loss(supervised: Supervised, tmp_path: Path) -> None:
    context_id = supervised.context(cwd=str(tmp_path))
    deleted = supervised.context()
    supervised.ask("DELETE", f"/v1/contexts/{deleted}")
    pid = int(supervised.run("import os; x = 1; os.getpid()", context_id=context_id).result)
    assert supervised.run("y = 1").end["state_lost"] is False
    before = supervised.ask("GET", f"/v1/contexts/{context_id}")[1]
    with supervised.open("/v1/runs", {"code": "import time; time.sleep(600)", "run_id": "cut"}) as lines:
        assert next(lines)["type"] == "start"
        supervised.kill()
        assert [line for line in lines if line["type"] == "end"] == []
    ran = supervised.run("'works'")
    assert (ran.result, ran.status, ran.end["state_lost"]) == ("'works'", "ok", True)
    assert supervised.run("1").end["state_lost"] is False
    assert supervised.ask("GET", "/v1/runs/cut")[1]["code"] == "run_not_found"
    after = supervised.ask("GET", f"/v1/contexts/{context_id}")[1]
    assert after == before | {"state": "dead", "execution_count": 0}
    lost = supervised.run("import os; x, os.getcwd()", context_id=context_id)
    assert (lost.error["name"], lost.end["state_lost"]) == ("NameError", True)
    assert supervised.run("os.getcwd()", context_id=context_id).result == repr(str(tmp_path))
    known = [one["context_id"] for one in supervised.ask("GET", "/v1/contexts")[1]["contexts"]]
    assert set(known) == {context_id, "default-python"} and len(known) == 2
    until = time.monotonic() + ANSWER_SECS
    while is_alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_alive(pid)


def test_a_bridge_that_is_killed_again_and_again_comes_back(supervised: Supervised) -> None:
    seen = set()
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        os.kill(supervised.pid, signal.SIGTERM)
        connection = supervised.connect()
        connection.request("GET", "/v1/contexts")
        seen.add(connection.getresponse().getheader("X-Holt-Interpreter"))
        connection.close()
        supervised.kill(number)
    assert supervised.run("1 + 1").result == "2"
    assert len(seen) == 3 and None not in seen


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b'{"a": 1}',
        json.dumps([1, {}, {"context_id": "../x", "language": "python", "cwd": "/", "created_at": "2026-01-01T00:00:00Z"}]),
        json.dumps([{"context_id": "a", "language": "python", "cwd": "/", "created_at": "yesterday"}]),
        json.dumps([{"context_id": "a", "language": "python", "cwd": "/", "created_at": "2026-01-01T00:00:00"}]),
    ],
)
def test_a_broken_memory_has_no_contexts(tmp_path: Path, content: Any) -> None:
    file = tmp_path / "contexts.json"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert ContextMemory(file).read() == []


def test_a_memory_that_is_no_file_has_no_contexts(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    for name in ("fifo", "link", "nothing", ""):
        assert ContextMemory(tmp_path / name).read() == []
