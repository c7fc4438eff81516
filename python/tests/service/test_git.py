"""Git in a runtime."""

from __future__ import annotations

import pytest
from holt import AsyncRuntime, GitFailed

pytestmark = pytest.mark.anyio


async def test_a_repository_is_cloned_changed_and_pushed(runtime: AsyncRuntime) -> None:
    await runtime.commands.run("rm -rf /tmp/git && mkdir /tmp/git && git init -q --bare -b main /tmp/git/remote.git")
    head = await runtime.git.clone("/tmp/git/remote.git", "/tmp/git/work")
    assert (head.path, head.branch, head.commit) == ("/tmp/git/work", "main", None)
    await runtime.files.write("/tmp/git/work/file", "one\n")
    assert [entry.path for entry in (await runtime.git.status(cwd=head.path)).entries] == ["file"]
    author = {"name": "Ada", "email": "ada@example.com"}
    made = await runtime.git.commit("One", cwd=head.path, all=True, author=author)
    await runtime.git.push(cwd=head.path)
    again = await runtime.git.clone("/tmp/git/remote.git", "/tmp/git/again", depth=1)
    assert again.commit == made.commit
    await runtime.files.write("/tmp/git/work/file", "two\n")
    assert "-one\n+two\n" in (await runtime.git.diff(cwd=head.path)).patch


async def test_a_missing_policy_is_named(runtime: AsyncRuntime) -> None:
    with pytest.raises(GitFailed, match=r"policy of the runtime does not allow git\.example\.com:443") as failed:
        await runtime.git.clone("https://git.example.com/a.git", "/tmp/never")
    assert failed.value.reason == "network"
