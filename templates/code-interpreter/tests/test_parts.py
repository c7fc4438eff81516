"""Parts of the bridge by themselves: messages, lines, runs and fresh seeds."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestClient, TestServer
from conftest import ROOT
from holt_code import context as context_module
from holt_code import run as run_module
from holt_code.bound import BoundEnvironment
from holt_code.contexts import Contexts
from holt_code.languages import Languages
from holt_code.lines import encode_line
from holt_code.memory import ContextMemory
from holt_code.messages import translate
from holt_code.process import Exit
from holt_code.run import Request, Run
from holt_code.server import make_app
from hypothesis import given, settings
from hypothesis import strategies as st

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
kinds = st.sampled_from(
    ["stream", "display_data", "execute_result", "update_display_data", "clear_output", "error", "status", "x"]
)
mime_bundles = st.dictionaries(
    st.sampled_from(["text/plain", "text/html", "application/json", "image/png", "application/vnd.a+json", ""]),
    json_values,
)
contents = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["stdout", "stderr"]) | json_values,
        "text": st.text(st.characters()) | json_values,
        "data": mime_bundles | json_values,
        "metadata": json_values,
        "transient": st.fixed_dictionaries({"display_id": json_values}) | json_values,
        "ename": json_values,
        "evalue": json_values,
        "traceback": st.lists(json_values) | json_values,
        "wait": json_values,
    },
)


@given(st.one_of(kinds, json_values), st.one_of(contents, json_values))
def test_each_message_becomes_lines_of_valid_json(kind: object, content: object) -> None:
    for cursor, line in enumerate(translate(kind, content)):
        encoded, _ = encode_line(line, cursor)
        assert encoded.endswith(b"\n") and encoded.count(b"\n") == 1
        read = json.loads(encoded.decode(), parse_constant=pytest.fail)
        assert (read["type"], read["cursor"]) == (line["type"], cursor)
        for mime, value in read.get("data", {}).items():
            assert isinstance(value, str) or "json" in mime


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 400), st.booleans()), max_size=60), st.integers(-1, 30))
def test_a_reader_gets_each_kept_line_once_and_in_order(steps: list[tuple[int, bool]], after: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_module, "MAX_RUN_BYTES", 2000)
        patch.setattr(run_module, "BATCH_BYTES", 300)
        asyncio.run(_read_while_adding(steps, after))


async def _read_while_adding(steps: list[tuple[int, bool]], after: int) -> None:
    kept = 0

    def resize(delta: int) -> None:
        nonlocal kept
        kept += delta

    run = Run("run", "context", Request(""), resize)
    read: list[dict[str, Any]] = []

    async def follow() -> None:
        async with aclosing(run.read(after)) as parts:
            async for text, _ in parts:
                read.extend(json.loads(line) for line in text.splitlines())

    reader = asyncio.create_task(follow())
    for size, rests in steps:
        run.add({"type": "stdout", "text": "x" * size})
        assert kept <= 2000
        if rests:
            await asyncio.sleep(0)
    run.end("ok")
    run.add({"type": "stdout", "text": "too late"})
    await asyncio.wait_for(reader, 10)
    dropped = [line for line in read if line["type"] == "dropped"]
    assert bool(dropped) is read[-1]["truncated"]
    cursors = [line["cursor"] for line in read if line["type"] != "dropped"]
    assert read[-1]["type"] == "end" and cursors[-1] == len(steps) + 1
    assert cursors == sorted(set(cursors))
    expected = max(1, len(steps) + 2 - (after + 1))
    assert bool(dropped) is (len(cursors) < expected)
    if after == -1:
        sizes = [len(encode_line({"type": "stdout", "text": "x" * size}, at + 1)[0]) for at, (size, _) in enumerate(steps)]
        start, _ = encode_line({"type": "start", "run_id": "run", "context_id": "context"}, 0)
        received = sum(([len(start), *sizes])[cursor] for cursor in cursors[:-1])
        assert received + sum(line["dropped_bytes"] for line in dropped) == len(start) + sum(sizes)


def nothing_kept(directory: Path) -> Any:
    """Returns the further parts of contexts, whose files do not exist yet."""
    return {"bound": BoundEnvironment(directory / "none"), "memory": ContextMemory(directory / "contexts.json")}


def test_a_kernel_that_is_killed_with_much_memory_was_out_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holt_code.process._total_memory_kib", lambda: 4_000_000)
    assert Exit(-9, 1_000_000).of_memory
    assert not Exit(-9, 900_000).of_memory
    assert not Exit(-11, 4_000_000).of_memory
    assert not Exit(0, 4_000_000).of_memory


@pytest.mark.parametrize(
    ("language", "seed", "draw"),
    [
        ("python", "import random, numpy; random.seed(1); numpy.random.seed(1)", "(random.random(), numpy.random.rand())"),
        ("javascript", "let fixed = Math.random()", "Math.random()"),
        ("bash", "RANDOM=1", "echo $RANDOM$RANDOM$RANDOM"),
    ],
)
def test_random_numbers_are_fresh_in_another_runtime(
    language: str, seed: str, draw: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identities = {"now": ("host", "1")}
    monkeypatch.setattr(context_module, "read_identity", lambda: identities["now"])

    async def draw_in_each() -> tuple[str, str, str]:
        contexts = Contexts(Languages([str(ROOT / "kernels")]), tmp_path, **nothing_kept(tmp_path))

        async def run(code: str) -> str:
            made = contexts.start_run(contexts.default(language), Request(code))
            lines = [json.loads(line) async for text, _ in made.read() for line in text.splitlines()]
            assert lines[-1]["status"] == "ok", lines
            return "".join(line.get("text", "") or str(line.get("data", "")) for line in lines[1:-1])

        try:
            await run(seed)
            same = await run(f"{seed.removeprefix('let fixed = ')}\n{draw}")
            again = await run(f"{seed.removeprefix('let fixed = ')}\n{draw}")
            await run(seed.replace("let ", ""))
            identities["now"] = ("host", "2")
            return same, again, await run(draw)
        finally:
            await contexts.close()

    same, again, other = asyncio.run(draw_in_each())
    if language != "javascript":  # Math.random cannot be given a seed.
        assert same == again
    assert other not in (same, "")


@pytest.mark.parametrize(("gather_secs", "is_whole"), [(60.0, True), (0.0, False)])
def test_a_short_run_is_answered_with_one_write(
    gather_secs: float, is_whole: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "GATHER_SECS", gather_secs)

    async def ask() -> None:
        contexts = Contexts(Languages([str(ROOT / "kernels")]), tmp_path, **nothing_kept(tmp_path))
        async with TestClient(TestServer(make_app(contexts, lambda: True))) as client:
            try:
                await client.post("/v1/contexts", json={})
                async with client.post("/v1/runs", json={"code": "print(1)\n2"}) as answer:
                    text = await answer.read()
                    assert answer.content_type == "application/x-ndjson"
                    assert (answer.content_length == len(text)) is is_whole
                assert [json.loads(line)["type"] for line in text.splitlines()] == ["start", "stdout", "result", "end"]
            finally:
                await contexts.close()

    asyncio.run(ask())
