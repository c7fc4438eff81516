"""The Python code of the pages. The blocks of a page run in order, in one session."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from holt import Holt, HoltError

repository = Path(__file__).parent.parent.parent
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
        with suppress(HoltError):
            holt.runtimes.get("work").delete()
        for delete, name in [
            (holt.snapshots.delete, "before"),
            (holt.templates.delete, "site"),
            (holt.policies.delete, "only-example"),
            (holt.secrets.delete, "example"),
            (holt.projects.delete, "team"),
        ]:
            with suppress(HoltError):
                delete(name)


@pytest.mark.usefixtures("clean_service")
@pytest.mark.parametrize("page", PAGES)
def test_the_blocks_of_a_page_run_as_they_are_written(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
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
