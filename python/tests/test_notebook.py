"""The notebook of the examples, run from its first cell to its last against the service."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

# These packages have no complete types.
nbclient: Any = import_module("nbclient")
nbformat: Any = import_module("nbformat")

notebook_path = Path(__file__).parent.parent.parent / "examples/python/notebook.ipynb"


def test_the_notebook_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # The kernel keeps its files in these directories.
    for name in ["JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"]:
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = nbformat.read(notebook_path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3").execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = [output.get("text") or output["data"]["text/plain"] for output in shown]
    assert "(0, '42\\n')" in texts
    assert "(15, 47)" in texts
    assert any("child 1 sees /workspace/primes.json" in text for text in texts)
    assert any(text.startswith("path_not_found - ") for text in texts)
    # The objects have a table of their own for notebooks.
    assert any("text/html" in output.get("data", {}) for output in shown)
