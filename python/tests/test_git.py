"""Git over programs of this machine, and the checks that need no runtime."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from holt import Git, GitAuthor, GitFailed, GitStatusEntry
from holt._git.progress import ProgressLines, without_progress
from holt._git.secret import directory_of, remote_address
from holt._git.status import parse_status
from holt.models import RuntimeSecret
from hypothesis import given
from hypothesis import strategies as st

author = GitAuthor(name="Ada", email="ada@example.com")
held = RuntimeSecret(
    name="token",
    env_name="TOKEN",
    inside=False,
    hosts=["git.example.com", "*.code.example.com"],
    header="authorization",
    available=True,
)
Made = Callable[..., Git]


class LocalCommands:
    """Runs the commands of a client on this machine, in one directory."""

    def __init__(self, directory: Path, env: Mapping[str, str]) -> None:
        self.directory = directory
        self.ran: list[Sequence[str]] = []
        self.env = {"PATH": os.environ["PATH"], "HOME": str(directory), "GIT_CONFIG_NOSYSTEM": "1", **env}

    def run(self, argv: Sequence[str], **options: Any) -> Any:
        self.ran.append(argv)
        cwd = self.directory / str(options.get("cwd") or ".")
        env = {**self.env, **options["env"]}
        try:
            ran = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=60)
        except FileNotFoundError:
            return SimpleNamespace(exit_code=127, stdout="", stderr="", timed_out=False)
        if (listener := options.get("on_stderr")) is not None:
            for at in range(0, len(ran.stderr), 7):  # Output arrives in pieces, which end anywhere.
                listener(ran.stderr[at : at + 7])
        most = options.get("max_output_bytes") or 2**20
        return SimpleNamespace(
            exit_code=ran.returncode,
            stdout=ran.stdout[:most],
            stderr=ran.stderr,
            timed_out=False,
            truncated=SimpleNamespace(stdout=len(ran.stdout) > most),
        )


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Makes the client of git in the test's directory."""

    def make(secrets: Sequence[RuntimeSecret] = (), *, allowed: bool = True, **env: str) -> Git:
        def test(host: str, *, port: int) -> SimpleNamespace:
            return SimpleNamespace(host=host, port=port, allowed=allowed, rule="no_rule")

        network = SimpleNamespace(
            get=lambda: SimpleNamespace(runtime_id="runtime", secrets=list(secrets)), test=test
        )
        return Git(cast("Any", LocalCommands(tmp_path, env)), cast("Any", network))

    return make


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A bare repository `remote.git` with one commit, and the clone `first`."""
    sh(
        tmp_path,
        """git init -q --bare -b main remote.git && git clone -q remote.git first 2>&1
        cd first && git checkout -q -b main && echo one > file
        git add file && git -c user.name=a -c user.email=a@b commit -q -m one
        git push -q origin main""",
    )
    return tmp_path


def sh(directory: Path, script: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": str(directory)}
    return subprocess.run(
        ["sh", "-ec", script], cwd=directory, env=env, capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_a_repository_is_cloned_changed_committed_and_pushed(made: Made, repository: Path) -> None:
    git = made()
    head = git.clone("./remote.git", "work", branch="main")
    assert (head.path, head.branch) == (str(repository / "work"), "main")
    (repository / "work/file").write_text("two\n")
    (repository / "work/a b").write_text("new\n")
    assert "-one\n+two\n" in git.diff(cwd="work").patch
    commit = git.commit("it's \"two\" $HOME", cwd="work", all=True, author=author)
    assert commit.commit != head.commit
    assert sh(repository, 'git -C work log -1 --format="%an|%s"') == 'Ada|it\'s "two" $HOME\n'
    status = git.status(cwd="work")
    assert (status.clean, status.ahead, status.upstream) == (True, 1, "origin/main")
    git.push(cwd="work")
    assert sh(repository, "git -C remote.git rev-parse main").strip() == commit.commit


def test_a_clone_and_a_push_report_their_progress_by_lines(made: Made, repository: Path) -> None:
    git, lines = made(), list[str]()
    git.clone(f"file://{repository}/remote.git", "work", on_progress=lines.append)
    assert lines[0] == "Cloning into 'work'..."
    # Two programs of git write at once, so a line of one can end in that of the other.
    assert re.search(r"Receiving objects: +\d+% \(\d/3\)", "\n".join(lines))
    assert not [line for line in lines if set(line) & {"\r", "\n", "\x1b"}]
    (repository / "work/file").write_text("two\n")
    git.commit("two", cwd="work", all=True, author=author)
    lines.clear()
    git.push(cwd="work", on_progress=lines.append)
    assert re.search(r"Writing objects: +\d+% \(\d/3\)", "\n".join(lines))
    sh(repository, "cd first && echo 3 > file && git -c user.name=a -c user.email=a@b commit -qam three")
    with pytest.raises(GitFailed) as failed:
        git.push(cwd="first", on_progress=lines.append)
    assert failed.value.reason == "rejected"
    assert "\r" not in failed.value.stderr


@given(st.integers(1, 60))
def test_each_state_of_a_line_is_reported_once(size: int) -> None:
    output = "a 1%\ra 100%\ra 100%, done.\nremote: b \x1b[K\n\r\n  \nlast"
    lines = list[str]()
    progress = ProgressLines(lines.append)
    for at in range(0, len(output), size):
        progress.add(output[at : at + size])
    progress.end()
    assert lines == ["a 1%", "a 100%", "a 100%, done.", "remote: b", "last"]
    assert without_progress(output) == "a 100%, done.\nremote: b \x1b[K\n\n  \nlast"


def test_a_status_names_every_kind_of_change(made: Made, repository: Path) -> None:
    sh(repository, "cd first && seq 9 > 'to move' && git add -A && git mv 'to move' moved && echo 2 > file && echo > new")
    status = made().status(cwd="first")
    assert sorted(status.entries, key=lambda entry: entry.path) == [
        GitStatusEntry(path="file", worktree="modified"),
        GitStatusEntry(path="moved", index="added"),
        GitStatusEntry(path="new", worktree="untracked"),
    ]


def test_a_diff_says_that_it_is_cut(made: Made, repository: Path) -> None:
    (repository / "first/file").write_text("two\n")
    diff = made().diff(cwd="first", max_output_bytes=10)
    assert (str(diff), diff.truncated) == ("diff --git", True)


def test_a_push_asks_for_the_address_only_to_explain_a_failure(made: Made, repository: Path) -> None:
    git = made(allowed=False)
    sh(repository, "cd first && echo 2 > file && git -c user.name=a -c user.email=a@b commit -qam two")
    git.push(cwd="first")
    assert len(cast("Any", git)._commands.ran) == 1
    sh(repository, "git -C first remote add far https://127.0.0.1:1/a.git")
    for remote, reason, hint in [("far", "network", "--allow 127.0.0.1:1"), ("none", "other", "words of git")]:
        with pytest.raises(GitFailed, match="git push failed") as failed:
            git.push(cwd="first", remote=remote)
        assert failed.value.reason == reason
        assert hint in failed.value.hint


def test_failures_have_a_reason_and_a_remedy(made: Made, repository: Path) -> None:
    git = made()
    cases: list[tuple[Callable[[], object], str, str]] = [
        (lambda: git.status(), "not_a_repository", "cwd"),
        (lambda: git.commit("x", cwd="first", author=author), "nothing_to_commit", "allow_empty"),
        (lambda: git.commit("x", cwd="first", allow_empty=True), "no_identity", "author"),
        (lambda: made(PATH="/nonexistent").status(), "no_git", "base-small"),
        (lambda: made(allowed=False).clone("https://127.0.0.1:1/a"), "network", "--allow 127.0.0.1:1"),
        (lambda: git.clone("https://127.0.0.1:1/a"), "network", "holt net log"),
    ]
    for call, reason, hint in cases:
        with pytest.raises(GitFailed) as failed:
            call()
        assert (failed.value.reason, failed.value.code) == (reason, "git_failed")
        assert hint in failed.value.hint


@pytest.mark.parametrize(
    ("secrets", "url", "words"),
    [
        ([], "https://git.example.com/a", "does not have the secret token. It has no secrets"),
        ([held], "https://github.com/a", "is not for github.com"),
        ([held], "http://git.example.com/a", "begins with https"),
        ([held], "https://u:p@git.example.com/a", "contains a password"),
    ],
)
def test_an_unusable_secret_is_refused_before_git_runs(
    made: Made, secrets: list[RuntimeSecret], url: str, words: str
) -> None:
    with pytest.raises(GitFailed, match=words) as failed:
        made(secrets, PATH="/nonexistent").clone(url, secret="token")
    assert failed.value.reason == "credentials"


def test_the_token_comes_from_the_variable_and_is_in_no_argument(made: Made, tmp_path: Path) -> None:
    # A program in the place of git notes its arguments and asks the helper, as git does.
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text(
        """#!/bin/sh
printf '%s\\n' "$@" >> "$HOME/arguments"
for helper in "$@"; do
  case $helper in
    credential.helper=!*) sh -c "${helper#credential.helper=!} get" >> "$HOME/helper";;
  esac
done
exit 1
"""
    )
    program.chmod(0o755)
    git = made([held], TOKEN="placeholder-1", PATH=f"{program.parent}:{os.environ['PATH']}")
    with pytest.raises(GitFailed):
        git.clone("https://x.code.example.com/a.git", secret="token", username="o'neil")
    assert (tmp_path / "helper").read_text() == "username=o'neil\npassword=placeholder-1\n"
    assert "placeholder-1" not in (tmp_path / "arguments").read_text()


def test_the_directory_of_a_clone_is_that_of_git() -> None:
    urls = {
        "https://h/a/b.git": "b",
        "https://h/a/b/": "b",
        "https://h/a/b/.git": "b",
        "https://h/a%20b.git": "a b",
        "git@h:a/b.git": "b",
        "host:b": "b",
        "/srv/b": "b",
        "https://h/": None,
        "..": None,
    }
    assert {url: directory_of(url) for url in urls} == urls
    assert remote_address("https://h:8443/a") == ("h", 8443)
    assert remote_address("http://h/a") == ("h", 80)
    assert remote_address("ssh://h/a") is None
    assert remote_address("https://h:x/a") is None


@given(st.lists(st.tuples(st.sampled_from("?12"), st.text(min_size=1).filter(lambda text: "\0" not in text))))
def test_every_path_comes_back(files: list[tuple[str, str]]) -> None:
    heads = {"?": "? ", "1": "1 .M N... 1 1 1 a a ", "2": "2 R. N... 1 1 1 a a R100 "}
    lines = [part for kind, path in files for part in ([heads[kind] + path] + (["before"] if kind == "2" else []))]
    entries = parse_status("\0".join([*lines, ""])).entries
    assert [entry.path for entry in entries] == [path for _, path in files]


@given(st.text(alphabet="\0 #?12u.MRabc+-"))
def test_any_text_is_parsed(text: str) -> None:
    assert all(entry.path for entry in parse_status(text).entries)
