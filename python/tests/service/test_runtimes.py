"""Runtimes: making, finding, pausing, forking and deleting them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from holt import AsyncHolt, AsyncRuntime, PolicyBody, PolicyRule
from holt.errors import InvalidRequest, NotSupportedHere, RuntimeNotFound, UnsupportedSetting
from holt.models import InlinePolicyRef

pytestmark = pytest.mark.anyio

#: Keys of labels may be any text.
labels = {"suite": "python", 'ü "&': "%"}


async def test_a_create_takes_every_option(holt: AsyncHolt, isolation: str) -> None:
    created = await holt.runtimes.create(
        template="base-small",
        name="python-options",
        isolation=isolation,  # type: ignore[arg-type]
        cpu=0.5,
        memory="512MiB",
        disk=5,
        env={"A": "1"},
        metadata=labels,
        timeout_secs=timedelta(minutes=10),
        on_timeout="terminate",
        network_policy=PolicyBody(allow=[PolicyRule(host="example.com")]),
        secrets=[],
    )
    async with created as runtime:
        assert (runtime.name, runtime.cpu, runtime.memory_mib, runtime.disk_mib) == ("python-options", 0.5, 512, 5120)
        assert (runtime.timeout_secs, runtime.on_timeout) == (600, "terminate")
        assert isinstance(runtime.network_policy, InlinePolicyRef)
        assert (await holt.runtimes.get("python-options")).runtime_id == runtime.runtime_id
        again = await holt.runtimes.get_or_create("python-options", isolation=isolation)  # type: ignore[typeddict-item]
        assert again.runtime_id == runtime.runtime_id
        found = [one.runtime_id async for one in holt.runtimes.list(state="running", metadata=labels)]
        assert found == [runtime.runtime_id]
        await runtime.update(metadata={"suite": "other"}, timeout_secs=None)
        assert (runtime.metadata, runtime.timeout_secs, runtime.expires_at) == ({"suite": "other"}, None, None)
    await runtime.refresh()
    assert runtime.state in ("terminating", "terminated")


async def test_a_block_that_fails_deletes_its_runtime_too(holt: AsyncHolt, isolation: str) -> None:
    runtime = await holt.runtimes.create(isolation=isolation)  # type: ignore[arg-type]
    with pytest.raises(LookupError):
        async with runtime:
            raise LookupError
    await runtime.refresh()
    assert runtime.state in ("terminating", "terminated")


async def test_get_or_create_makes_a_runtime_once(holt: AsyncHolt, isolation: str) -> None:
    made = await holt.runtimes.get_or_create("python-once", isolation=isolation)  # type: ignore[typeddict-item]
    async with made:
        again = await holt.runtimes.get_or_create("python-once", isolation=isolation)  # type: ignore[typeddict-item]
        assert again.runtime_id == made.runtime_id


async def test_a_dry_run_makes_nothing(holt: AsyncHolt, isolation: str) -> None:
    outcome = await holt.runtimes.dry_run(isolation=isolation, memory="512MiB")  # type: ignore[typeddict-item]
    assert (outcome.would_create, outcome.memory_mib) == (True, 512)
    refused = await holt.runtimes.dry_run(template="base-small", memory="64TiB" if isolation == "none" else "4TiB")
    assert refused.would_create is False
    assert refused.problems


async def test_a_wrong_option_is_named(holt: AsyncHolt) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await holt.runtimes.create(memory="much")
    assert "memory" in caught.value.message
    with pytest.raises(TypeError, match="memmory"):
        await holt.runtimes.dry_run(memmory=1)  # type: ignore[call-arg]
    with pytest.raises(RuntimeNotFound):
        await holt.runtimes.get("no-such-runtime")


async def test_a_runtime_is_paused_resumed_forked_and_kept(holt: AsyncHolt) -> None:
    async with await holt.runtimes.create(isolation="gvisor") as runtime:
        await runtime.files.write("/workspace/kept", "1")
        await runtime.pause()
        assert (runtime.state, runtime.expires_at) == ("paused", None)
        await runtime.resume()
        assert runtime.state == "running"
        assert (await runtime.dry_run_fork(2)).count == 2
        assert (await runtime.dry_run_fork(count=3)).would_create is True
        async with await runtime.fork(2, record_files=True) as fork:
            assert (len(fork.runtimes), fork.errors) == (2, [])
            assert [child.parent_id for child in fork.runtimes] == [runtime.runtime_id] * 2
            assert [await child.files.read_text("/workspace/kept") for child in fork.runtimes] == ["1", "1"]
            assert [(await child.diff()).since.type for child in fork.runtimes] == ["fork"] * 2
        snapshot = await runtime.snapshot("python-kept", record_files=True)
        await runtime.files.write("/workspace/later", "1")
        found = await runtime.diff(since="python-kept")
        assert [change.path for change in found.data] == ["/workspace/later"]
        kept = await holt.snapshots.get("python-kept")
        assert (kept.snapshot_id, kept.record_files) == (snapshot.snapshot_id, True)
        assert [one.name async for one in holt.snapshots.list(runtime_id=runtime.runtime_id)] == ["python-kept"]
    async with await holt.runtimes.create(snapshot="python-kept") as restored:
        assert await restored.files.read_text("/workspace/kept") == "1"
    await holt.snapshots.delete("python-kept")


async def test_what_a_class_cannot_do_is_an_error(holt: AsyncHolt) -> None:
    async with await holt.runtimes.create(isolation="container") as runtime:
        with pytest.raises((UnsupportedSetting, NotSupportedHere)) as caught:
            await runtime.pause()
        assert caught.value.hint


async def test_a_runtime_tells_its_use_and_its_events(runtime: AsyncRuntime) -> None:
    metrics = await runtime.metrics(window_secs=timedelta(seconds=60))
    assert metrics.runtime_id == runtime.runtime_id
    assert metrics.limits.memory_bytes == runtime.memory_mib * 2**20
    types = [item.type async for item in runtime.events(types=["runtime.*"])]
    assert types[:2] == ["runtime.starting", "runtime.running"]
    assert types[-1] == "end"


async def test_a_handle_is_shown_without_its_empty_fields(runtime: AsyncRuntime) -> None:
    assert f"runtime_id='{runtime.runtime_id}'" in repr(runtime)
    assert "parent_id" not in repr(runtime)
    assert "<td" in runtime._repr_html_()
    assert runtime.to_dict()["runtime_id"] == runtime.runtime_id
    assert runtime.to_dict()["created_at"].endswith("Z")
