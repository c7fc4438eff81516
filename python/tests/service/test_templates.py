"""Templates: building, waiting, logs, failures and checks."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from holt import AsyncHolt, AsyncTemplate, BuildFailed
from holt.errors import TemplateNotFound, Timeout
from holt.models import BuildLogEnd, BuildLogLine

pytestmark = pytest.mark.anyio


def new_name() -> str:
    """Returns a name that no other test has."""
    return f"python-{uuid.uuid4().hex[:12]}"


async def test_a_template_is_built_from_steps_and_a_context(holt: AsyncHolt, tmp_path: Path) -> None:
    # A build with the same content would take the step from the cache, without its output.
    said = f"made by python {uuid.uuid4()}"
    for path in ["app/main.py", "app/secret.key", "other"]:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(f"print({said!r})\n")
    (tmp_path / ".dockerignore").write_text("**/*.key\n")
    lines: list[BuildLogLine] = []
    statuses: list[str] = []
    sent: list[int] = []
    template = (
        AsyncTemplate.from_template("base-small")
        .name(f"{new_name()}:v1")
        .context(tmp_path)
        .user("root")
        .copy("app", "/srv/app/")
        .env(GREETING="hello")
        .env(OTHER="$GREETING world", MORE="x")
        .workdir("/srv/app")
        .run("ls -A | sort", "python3 main.py | tee said")
        .start_cmd("touch /tmp/started; exec sleep 1000000")
        .ready_cmd("test -e /tmp/started", timeout_secs=60)
        .disk("5GiB")
    )
    build = await template.build_and_wait(
        client=holt,
        timeout_secs=240,
        on_log=lines.append,
        on_status=lambda one: statuses.append(one.status),
        on_upload=lambda progress: sent.append(progress.files),
    )
    try:
        assert (build.status, build.tag) == ("ready", "v1")
        messages = [str(line) for line in lines]
        assert said in messages
        assert "main.py" in messages
        assert "secret.key" not in messages
        assert statuses[-1] == "ready"
        assert sent == [1]
        kept_request = await build.request()
        assert kept_request.request is not None
        assert kept_request.request["disk"] == "5120MiB"
        assert kept_request.build_secrets == []
        made = await holt.templates.get(f"{build.name}:v1")
        assert (made.state, made.workdir, made.disk_mib) == ("ready", "/srv/app", 5120)
        assert [one.template_id async for one in holt.templates.list(name=build.name)] == [build.template_id]
        assert [one.build_id async for one in holt.builds.list(name=build.name)] == [build.build_id]
        async with await holt.runtimes.create(template=f"{build.name}:v1") as runtime:
            result = await runtime.commands.run("cat said /tmp/started; echo $OTHER; pwd")
            assert result.stdout == f"{said}\nhello world\n/srv/app\n"
        whole = [item async for item in build.logs()]
        assert [item.message for item in whole if isinstance(item, BuildLogLine)] == messages
        assert isinstance(whole[-1], BuildLogEnd)
        kept = [item async for item in build.logs(cursor=whole[1].cursor, follow=False)]
        assert kept == whole[2:]
    finally:
        await holt.templates.delete(build.template_id)
    with pytest.raises(TemplateNotFound):
        await holt.templates.get(build.template_id)


async def test_a_failed_build_names_the_step_and_its_last_output() -> None:
    # The client is the default one, which finds the service by itself.
    template = AsyncTemplate.from_template("base-small").run("true").run("echo last words; exit 3")
    with pytest.raises(BuildFailed) as caught:
        await template.build_and_wait(timeout_secs=240)
    failed = caught.value
    assert (failed.code, failed.reason) == ("build_failed", "step_failed")
    assert failed.step_text == "RUN echo last words; exit 3"
    assert failed.step is not None
    assert failed.build.steps[failed.step - 1].state == "failed"
    assert "last words" in failed.output
    assert failed.details["exit_code"] == 3
    assert "last words" in failed.message
    assert failed.hint != ""


async def test_after_its_own_timeout_the_build_goes_on_and_can_be_followed(holt: AsyncHolt) -> None:
    name = new_name()
    template = AsyncTemplate.from_template("base-small").name(name).run("echo begun; sleep 600")
    with pytest.raises(Timeout) as caught:
        await template.build_and_wait(client=holt, timeout_secs=0.5)
    build_id = caught.value.details["build_id"]
    assert build_id in caught.value.message
    assert f'holt.builds.get("{build_id}").wait()' in caught.value.hint
    build = await holt.builds.get(build_id)
    assert build.ended_at is None
    # It is followed by another reader, until the step has written its line.
    async with build.logs() as items:
        async for item in items:
            if isinstance(item, BuildLogLine) and item.message == "begun":
                break
    await build.cancel()
    with pytest.raises(BuildFailed) as cancelled:
        await build.wait()
    assert cancelled.value.reason == "cancelled"
    assert build_id in cancelled.value.message


async def test_a_dockerfile_is_checked_without_a_build(holt: AsyncHolt, tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text("FROM holt/base-small\nHEALTHCHECK CMD true\nVOLUME /data\nRUN true\n")
    template = AsyncTemplate.from_dockerfile(path)
    found = await template.check(client=holt)
    assert found == await template.check()
    assert found.ok is True
    assert [(line.instruction, line.verdict) for line in found.lines][::3] == [("FROM", "supported"), ("RUN", "supported")]
    assert "ignored" in [line.verdict for line in found.lines]
    assert found.templates != []
