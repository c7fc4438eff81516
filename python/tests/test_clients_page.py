"""The page that shows the clients side by side, against the clients."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from holt import Build, Command, Git, Holt, Runtime, ShellSession, Template
from holt._sync.code import Code, CodeContexts
from holt._sync.commands import Commands
from holt._sync.files import Files

repository = Path(__file__).parent.parent.parent
page = (repository / "docs/clients.md").read_text()
rows = [
    tuple(cell.strip().strip("`") for cell in line.strip("|").split("|"))
    for line in page.splitlines()
    if line.startswith("| ") and not line.startswith("| action")
]
sources = repository / "packages/sdk/src"

OBJECTS: dict[str, tuple[type, str]] = {
    "holt": (Holt, "holt.ts"),
    "runtime": (Runtime, "runtime.ts"),
    "runtime.code": (Code, "code/code.ts"),
    "runtime.code.contexts": (CodeContexts, "code/code-contexts.ts"),
    "runtime.commands": (Commands, "commands.ts"),
    "runtime.files": (Files, "files/files.ts"),
    "command": (Command, "command-handle.ts"),
    "shell": (ShellSession, "session.ts"),
    "runtime.git": (Git, "git/git.ts"),
    "template": (Template, "template-builder.ts"),
    "build": (Build, "template/build-handle.ts"),
}
"""The objects of the page: their class in Python, and the file of their class in TypeScript."""
SAME_IN_BOTH = {"shell": {"run", "start", "stream"}}
"""Calls that the page does not repeat, because another object has them with the same name."""
OF_PYTHON = {"to_dict", "close", "aclose"}
"""Calls that only Python needs: the end of a client, and the object as JSON."""


def class_of(name: str) -> type:
    """Returns the class of an object of the page."""
    if name in OBJECTS:
        return OBJECTS[name][0]
    owner, _, attribute = name.rpartition(".")
    member: Any = inspect.getattr_static(class_of(owner), attribute)
    function = member.func if isinstance(member, cached_property) else member.fget
    module = re.search(r"return (\w+)\(", inspect.getsource(function))
    assert module is not None, name
    found: Any = re.search(rf"from \.(\w+) import {module[1]}\b", inspect.getsource(inspect.getmodule(function)))  # type: ignore[arg-type]
    home = function.__module__ if found is None else f"holt._sync.{found[1]}"
    return cast("type", vars(import_module(home))[module[1]])


def calls_of(class_: type) -> set[str]:
    """Returns the public calls of a class that send requests."""
    return {
        name
        for one in class_.__mro__
        if one.__module__.startswith("holt._sync")
        for name, value in vars(one).items()
        if inspect.isfunction(value) and not name.startswith("_")
    }


def objects() -> set[str]:
    """Returns every object of the page."""
    return {python.rpartition(".")[0] for _, _, _, python in rows}


def test_every_call_of_python_is_on_the_page_once() -> None:
    listed = [python for _, _, _, python in rows]
    assert sorted(listed) == sorted(set(listed))
    wanted = {
        f"{name}.{call}"
        for name in objects()
        for call in calls_of(class_of(name)) - OF_PYTHON - SAME_IN_BOTH.get(name, set())
    }
    assert set(listed) == wanted


def test_every_group_of_calls_is_on_the_page() -> None:
    for name in ("holt", "runtime", "holt.secrets"):
        for attribute, value in vars(class_of(name)).items():
            if isinstance(value, cached_property):
                assert f"{name}.{attribute}" in objects()


@pytest.mark.parametrize("typescript", sorted({row[2] for row in rows} - {""}))
def test_every_call_of_typescript_exists(typescript: str) -> None:
    owner, _, call = typescript.rpartition(".")
    file = OBJECTS[owner][1] if owner in OBJECTS else f"{owner.rpartition('.')[2]}.ts"
    file = "secrets.ts" if owner == "holt.secrets.providers" else file
    assert re.search(rf"^  (?:async )?\*?{call}\(", (sources / file).read_text(), re.M), file


def test_the_names_are_the_same_in_the_style_of_the_language() -> None:
    other = {"runtime.ports.fetch": "runtime.ports.request", "runtime.ports.webSocketUrl": "runtime.ports.websocket_url"}
    for _, _, typescript, python in rows:
        snake = other.get(typescript) or re.sub(r"(?<=[a-z])([A-Z])", lambda match: f"_{match[1].lower()}", typescript)
        if typescript and python != "template.check":
            assert python == snake or python.startswith(f"{snake}_"), typescript


def test_every_command_exists() -> None:
    ran = subprocess.run(["node", Path(__file__).parent / "list_commands.mjs"], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    options: dict[str, list[str]] = json.loads(ran.stdout)
    for _, shown, _, _ in rows:
        command, _, option = re.sub(r" [A-Z]+", "", shown).partition(" -")
        if command:
            assert command in options
            assert option == "" or f"-{option}" in options[command], shown
