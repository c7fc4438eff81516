"""Sequences of file operations do to a runtime what they do to a model of a tree."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Union

import pytest
from holt import ApiError, Holt, Runtime
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

SEED = int(os.environ.get("HOLT_PROPERTY_SEED") or os.environ.get("HOLT_TEST_SEED") or "1")
RUNS = int(os.environ.get("HOLT_PROPERTY_RUNS") or ("200" if os.environ.get("HOLT_TEST_LENGTH") == "long" else "12"))

Path = tuple[str, ...]
Node = Union[bytes, "dict[str, Node]"]


@dataclass(frozen=True)
class Operation:
    """An operation. Paths are relative to the tree."""

    type: Literal["write", "mkdir", "copy", "move", "remove", "read", "list"]
    path: Path
    destination: Path
    content: bytes
    flag: bool
    overwrite: bool


paths = st.lists(st.sampled_from(["a", "b", "d e", "é"]), min_size=1, max_size=3).map(tuple)
types = ["write", "write", "mkdir", "copy", "copy", "move", "remove", "read", "list"]
operations = st.builds(
    Operation,
    type=st.sampled_from(types),
    path=paths,
    destination=paths,
    content=st.binary(max_size=20),
    flag=st.booleans(),
    overwrite=st.booleans(),
)


@pytest.fixture(scope="module")
def place(isolation: str) -> Iterator[Runtime]:
    """A runtime of each class."""
    with Holt() as holt, holt.runtimes.create(isolation=isolation) as runtime:  # type: ignore[arg-type]
        yield runtime


@seed(SEED)
@settings(
    max_examples=RUNS,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    phases=[Phase.generate, Phase.shrink],
)
@given(sequence=st.lists(operations, min_size=1, max_size=15))
def test_operations_do_to_a_runtime_what_they_do_to_a_tree(place: Runtime, sequence: list[Operation]) -> None:
    top = f"/srv/{uuid.uuid4().hex}"
    place.commands.run(["mkdir", "-m", "777", top], user="root")
    tree: dict[str, Node] = {}
    for one in sequence:
        if one.type in ("copy", "move") and one.path[: len(one.destination)] == one.destination != one.path:
            continue  # To replace a directory above the source is not defined.
        expected = codes_of(tree, one)
        try:
            answer = ask(place, top, one)
        except ApiError as error:
            assert error.code in expected, f"{one}: {error.code}, not {expected or 'a success'}"
        else:
            assert not expected, f"{one}: a success, not {expected}"
            assert answer == apply(tree, one), one
    assert described(place, top) == dict(flat(tree))
    place.files.remove(top, recursive=True)


def ask(runtime: Runtime, top: str, one: Operation) -> object:
    """Does an operation by the client, and returns the part of the answer that a model knows."""
    path, destination = "/".join((top, *one.path)), "/".join((top, *one.destination))
    files = runtime.files
    if one.type == "write":
        return files.write(path, one.content, overwrite=one.overwrite).size_bytes
    if one.type == "mkdir":
        return files.make_directory(path, parents=one.flag).type
    if one.type == "copy":
        copied = files.copy(path, destination, recursive=one.flag, overwrite=one.overwrite)
        return copied.destination.removeprefix(top)
    if one.type == "move":
        return files.move(path, destination, overwrite=one.overwrite).destination.removeprefix(top)
    if one.type == "remove":
        return files.remove(path, recursive=one.flag)
    if one.type == "read":
        return files.read(path)
    return [entry.name for entry in files.list(path)]


def codes_of(tree: dict[str, Node], one: Operation) -> set[str]:
    """Returns the codes of everything that is wrong with an operation; none if it succeeds."""
    found = look(tree, one.path)
    if isinstance(found, str):
        is_made = one.type == "write" or (one.type == "mkdir" and (one.flag or len(one.path) == 1))
        is_made = is_made or (one.type == "mkdir" and isinstance(look(tree, one.path[:-1]), dict))
        return set() if is_made and found == "path_not_found" else {found}
    is_directory = isinstance(found, dict)
    codes: set[str] = set()
    if one.type == "write":
        if is_directory:
            codes.add("is_directory")
        if not one.overwrite:
            codes.add("already_exists")
    elif one.type == "mkdir":
        if not is_directory:
            codes |= {"already_exists", "not_a_directory"}
        elif not one.flag:
            codes.add("already_exists")
    elif one.type == "remove":
        if isinstance(found, dict) and found and not one.flag:
            codes |= {"directory_not_empty", "is_directory"}
    elif one.type == "read":
        if is_directory:
            codes.add("is_directory")
    elif one.type == "list":
        if not is_directory:
            codes.add("not_a_directory")
    else:
        codes |= transfer_codes(tree, one, is_directory)
    return codes


def transfer_codes(tree: dict[str, Node], one: Operation, is_directory: bool) -> set[str]:
    codes: set[str] = set()
    if one.type == "copy" and is_directory and not one.flag:
        codes.add("is_directory")
    if one.destination[: len(one.path)] == one.path:
        codes |= {"invalid_request", "invalid_path"}
        if one.destination != one.path and not is_directory:
            codes.add("not_a_directory")
    there = look(tree, one.destination)
    if there == "not_a_directory":
        codes.add("not_a_directory")
    elif not isinstance(there, str) and not one.overwrite:
        codes.add("already_exists")
    return codes


def apply(tree: dict[str, Node], one: Operation) -> object:
    """Does an operation that succeeds to the model."""
    found = look(tree, one.path)
    if one.type == "write":
        put(tree, one.path, one.content)
        return len(one.content)
    if one.type == "mkdir":
        if isinstance(found, str):
            put(tree, one.path, {})
        return "directory"
    if one.type == "read":
        return found
    if one.type == "list":
        assert isinstance(found, dict)
        return sorted(found, key=str.encode)
    assert not isinstance(found, str)
    if one.type in ("remove", "move"):
        take(tree, one.path)
    if one.type == "remove":
        return None
    put(tree, one.destination, copied(found))
    return "/" + "/".join(one.destination)


def look(tree: Node, path: Path) -> Node | Literal["path_not_found", "not_a_directory"]:
    at: Node = tree
    for part in path:
        if not isinstance(at, dict):
            return "not_a_directory"
        if part not in at:
            return "path_not_found"
        at = at[part]
    return at


def put(tree: dict[str, Node], path: Path, node: Node) -> None:
    at = tree
    for part in path[:-1]:
        inner = at.setdefault(part, {})
        assert isinstance(inner, dict)
        at = inner
    at[path[-1]] = node


def take(tree: dict[str, Node], path: Path) -> None:
    parent = look(tree, path[:-1])
    assert isinstance(parent, dict)
    del parent[path[-1]]


def copied(node: Node) -> Node:
    return {name: copied(inner) for name, inner in node.items()} if isinstance(node, dict) else node


def flat(tree: dict[str, Node], prefix: str = "") -> Iterator[tuple[str, bytes | None]]:
    for name, node in tree.items():
        yield f"{prefix}{name}", None if isinstance(node, dict) else node
        if isinstance(node, dict):
            yield from flat(node, f"{prefix}{name}/")


def described(runtime: Runtime, top: str) -> dict[str, bytes | None]:
    """Returns everything below a directory: the content of a file, and None for a directory."""
    return {
        entry.path.removeprefix(f"{top}/"): runtime.files.read(entry.path) if entry.type == "file" else None
        for entry in runtime.files.list(top, depth=8)
    }
