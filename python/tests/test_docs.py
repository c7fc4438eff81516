"""The Python code of the pages. The blocks of a page run in order, in one session."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from holt import Holt, HoltError

repository = Path(__file__).parent.parent.parent
websocket_example = repository / "examples/websocket"
PAGES = ["docs/python.md", "python/README.md"]
fence = re.compile(r"(<!-- not run: [^\n]+ -->\n+)?^```python\n(.*?)^```$", re.M | re.S)


def blocks_of(page: str) -> list[tuple[int, str, bool]]:
    """Returns the blocks of a page: their line, their code, and whether a test runs them."""
    text = (repository / page).read_text()
    return [
        (text.count("\n", 0, found.start(2)), found[2], found[1] is None) for found in fence.finditer(text)
    ]


@pytest.fixture
def clean_service() -> Iterator[None]:
    """A service without the things that the pages name, which a failed run leaves."""
    remove_named()
    yield
    remove_named()


def remove_named() -> None:
    """Removes the things that the pages name."""
    with Holt() as holt:
        for name in ["work", "mine"]:
            with suppress(HoltError):
                holt.runtimes.get(name).delete()
        for delete, name in [
            (holt.snapshots.delete, "before"),
            (holt.templates.delete, "site"),
            (holt.policies.delete, "only-example"),
            (holt.secrets.delete, "example"),
            (holt.projects.delete, "team"),
        ]:
            with suppress(HoltError):
                delete(name)


@pytest.fixture
def server_in_mine() -> Iterator[None]:
    """The runtime `mine` of the page about ports, with a server on its port."""
    with Holt() as holt, holt.runtimes.create(name="mine") as runtime:
        runtime.files.write("/tmp/echo-server.mjs", websocket_example / "echo-server.mjs")
        runtime.commands.start(["node", "/tmp/echo-server.mjs", "8000"])
        assert runtime.ports.get(8000, wait_secs=60).listening
        yield


@pytest.mark.usefixtures("clean_service")
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_as_they_are_written(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_blocks(page)


@pytest.mark.usefixtures("clean_service", "server_in_mine")
def test_the_blocks_about_ports_run_as_they_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    run_blocks("docs/ports.md")
    assert capsys.readouterr().out.splitlines() == ["200", "200", "hello", "hello", "hello"]


def test_the_example_of_a_websocket_runs() -> None:
    command = [sys.executable, websocket_example / "open.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    came = ["by the address", "by the header", "with asyncio"]
    assert done.stdout.splitlines() == [f"came back: {one}" for one in came]


def run_blocks(page: str) -> None:
    """Runs the blocks of a page in one session."""
    names: dict[str, Any] = {"__name__": "__main__"}
    blocks = blocks_of(page)
    assert blocks != []
    for line, code, is_run in blocks:
        source = "\n" * line + code
        made = compile(source, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if not is_run:
            continue
        result = eval(made, names)
        if inspect.iscoroutine(result):
            asyncio.run(result)
