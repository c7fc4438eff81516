"""The reference that the documentation site has as a page."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import holt

program = Path(__file__).parent.parent / "reference.py"


def test_the_reference_has_every_public_class_and_call() -> None:
    # Without the packages of this environment, as the site makes it.
    ran = subprocess.run([sys.executable, "-S", program], capture_output=True, text=True, timeout=60)
    headings = {line.lstrip("# ") for line in ran.stdout.splitlines() if line.startswith("#")}
    missing: list[str] = []
    for name in holt.__all__:
        value = getattr(holt, name)
        if not inspect.isclass(value) or not value.__module__.startswith(("holt._sync", "holt.errors")):
            continue
        calls = [call for call, one in vars(value).items() if inspect.isfunction(one) and not call.startswith("_")]
        missing.extend(one for one in [name, *(f"{name}.{call}" for call in calls)] if one not in headings)
    assert missing == []
    assert "Async" not in ran.stdout.partition("## The client")[2]
