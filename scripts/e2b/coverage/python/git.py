"""Git, which is commands of the sandbox."""

import e2b
from e2b import GitUpstreamException
from recorder import check, finish, kinds, loop, record, refused, the

for kind in kinds:
    sandbox = loop.run_until_complete(the(kind.create(timeout=900)))
    git, files = sandbox.git, sandbox.files
    G = "AsyncGit" if kind is e2b.AsyncSandbox else "Git"
    record(type(git), G)

    async def run(line):
        return (await the(sandbox.commands.run(line))).stdout.strip()

    async def settings():
        await the(git.configure_user("A Name", "a@example.com"))
        assert await the(git.get_config("user.email")) == "a@example.com"
        await the(git.set_config("pull.rebase", "false"))
        assert await run("git config --global pull.rebase") == "false"
        assert await the(git.get_config("none.such")) is None

    check("the settings of git are kept", settings, works=f"{G}.configure_user {G}.get_config {G}.set_config")

    async def commits():
        await the(git.init("repo", initial_branch="trunk"))
        await the(files.write("repo/a", "one\n"))
        await the(files.write("repo/b", "one\n"))
        assert (await the(git.status("repo"))).untracked_count == 2
        await the(git.add("repo", files=["a"], all=False))
        assert (await the(git.status("repo"))).staged_count == 1
        await the(git.add("repo"))
        await the(git.commit("repo", "The first", author_name="Other", author_email="o@example.com"))
        assert await run('git -C repo log -1 --format="%an %ae %s"') == "Other o@example.com The first"
        await the(git.commit("repo", "Nothing", allow_empty=True))
        status = await the(git.status("repo"))
        assert (status.current_branch, status.is_clean) == ("trunk", True), status

    check("a repository is made and committed to", commits, works=f"{G}.init {G}.add {G}.commit {G}.status")

    async def branches():
        await the(git.create_branch("repo", "side"))
        assert (await the(git.branches("repo"))).current_branch == "side"
        await the(git.checkout_branch("repo", "trunk"))
        assert sorted((await the(git.branches("repo"))).branches) == ["side", "trunk"]
        await the(git.delete_branch("repo", "side", force=True))
        assert (await the(git.branches("repo"))).branches == ["trunk"]

    check(
        "branches are made, chosen and deleted",
        branches,
        works=f"{G}.create_branch {G}.branches {G}.checkout_branch {G}.delete_branch",
    )

    async def changes():
        await the(files.write("repo/a", "two\n"))
        await the(git.add("repo"))
        await the(git.restore("repo", ["a"], staged=True))
        assert not (await the(git.status("repo"))).has_staged
        await the(git.restore("repo", ["a"]))
        assert await the(files.read("repo/a")) == "one\n"
        await the(git.reset("repo", mode="hard", target="HEAD~1"))
        assert await run("git -C repo log --format=%s") == "The first"

    check("changes are taken back", changes, works=f"{G}.restore {G}.reset")

    async def remotes():
        await the(git.init("/home/user/bare.git", bare=True, initial_branch="trunk"))
        await the(git.remote_add("repo", "origin", "file:///home/user/bare.git"))
        assert await the(git.remote_get("repo", "origin")) == "file:///home/user/bare.git"
        assert await the(git.remote_get("repo", "none")) is None
        await refused(lambda: git.pull("repo"), GitUpstreamException)
        await the(git.push("repo", remote="origin", branch="trunk"))
        await the(git.clone("file:///home/user/bare.git", path="copy", branch="trunk", depth=1))
        assert await the(files.read("copy/b")) == "one\n"
        await the(files.write("repo/c", "new\n"))
        await the(git.add("repo"))
        await the(git.commit("repo", "The second"))
        await the(git.push("repo"))
        await the(git.pull("copy"))
        assert await the(files.read("copy/c")) == "new\n"

    check(
        "commits go to another repository and back",
        remotes,
        works=f"{G}.remote_add {G}.remote_get {G}.push {G}.clone {G}.pull",
    )

    async def credentials():
        await the(git.dangerously_authenticate("me", "secret", host="git.example.com"))
        filled = await run(r"printf 'protocol=https\nhost=git.example.com\n\n' | git credential fill")
        assert "username=me\npassword=secret" in filled, filled

    check("credentials are stored for a host", credentials, works=f"{G}.dangerously_authenticate")
    loop.run_until_complete(the(sandbox.kill()))

finish()
