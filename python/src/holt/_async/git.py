"""Git in a runtime."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from .._git.failure import cause_of, explain_failure, is_local
from .._git.progress import ProgressLines, without_progress
from .._git.results import GitAuthor, GitDiff, GitHead, GitStatus
from .._git.secret import credential_settings, directory_of, remote_address
from .._git.status import parse_status
from .._options import RuntimePath, Seconds, path_text
from ..errors import ApiError, GitFailed, InvalidRequest

if TYPE_CHECKING:
    from .._models.command import CommandResult
    from .._models.network import TestedNetwork
    from .._output import Listener
    from .commands import AsyncCommands
    from .network import AsyncNetwork

_timeout_secs = 60.0
_transfer_timeout_secs = 600.0
"""A repository of some GiB takes minutes."""
_max_status_bytes = 4 * 1024 * 1024
"""The most bytes of a status: some 50,000 files. The service allows no more."""
_environment = {"GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8"}
"""No command waits for input that nobody gives, or takes a lock that `status` does not need."""
_show_head = (
    "git rev-parse --show-toplevel && { git symbolic-ref -q --short HEAD || echo; } && "
    "{ git rev-parse -q --verify HEAD || echo; }"
)
"""Prints the root, the branch and the commit of a repository, one per line."""


class AsyncGit:
    """Git in one runtime.

    The runtime needs the program `git`, which the base templates have, and a network policy that
    allows the host of a remote. A failure raises `GitFailed`. Each call takes `cwd`, the directory
    in which git runs (default: the template's), `user`, the user who runs it, and `timeout_secs`.
    """

    def __init__(self, commands: AsyncCommands, network: AsyncNetwork) -> None:
        self._commands = commands
        self._network = network

    async def clone(
        self,
        url: str,
        path: RuntimePath | None = None,
        *,
        secret: str | None = None,
        username: str = "x-access-token",
        branch: str | None = None,
        depth: int | None = None,
        cwd: RuntimePath | None = None,
        user: str | None = None,
        timeout_secs: Seconds = _transfer_timeout_secs,
        on_progress: Listener | None = None,
    ) -> GitHead:
        """Clones a repository. The directory must be missing or empty.

        Args:
            url: The address of the repository.
            path: The new directory. Default: the last part of the address without `.git`.
            secret: The secret of the runtime that holds a token for the host. The token itself
                stays outside of the runtime, and nothing is stored in the repository.
            username: The user name that is sent with the token.
            branch: The branch or tag to check out. Default: that of the remote.
            depth: The number of commits to fetch from the end of the branch. Default: all.
            cwd: The directory in which git runs. Default: the template's.
            user: The user who runs git. Default: the template's.
            timeout_secs: The time limit of git.
            on_progress: Called with each line of git's progress as it arrives.
        """
        directory = directory_of(url) if path is None else path_text(path)
        if directory is None:
            raise InvalidRequest("url names no directory.", hint="Give path: the new directory.")
        flags = [*_progress(on_progress), *_option("--branch", branch), *_option("--depth", depth), "--", url, directory]
        settings = await self._credentials(secret, url, username)
        script = f'directory=$1; shift; git "$@" >&2 && CDPATH= cd -- "$directory" && {_show_head}'
        argv = _shell(script, [directory, *settings, "clone", *flags])
        result = await self._run(
            "clone", argv, cwd, user, timeout_secs, url=url, secret=secret, on_progress=on_progress
        )
        return _parse_head(result.stdout)

    async def status(
        self, *, cwd: RuntimePath | None = None, user: str | None = None, timeout_secs: Seconds = _timeout_secs
    ) -> GitStatus:
        """Returns the branch, and the files that differ from the last commit or are not tracked.

        `truncated` is true if there are more than some 50,000.
        """
        argv = ["git", "status", "--porcelain=v2", "--branch", "-z"]
        result = await self._run("status", argv, cwd, user, timeout_secs, max_output_bytes=_max_status_bytes)
        # The last line of cut output may be cut.
        whole = result.stdout.rpartition("\0")[0] if result.truncated.stdout else result.stdout
        status = parse_status(whole)
        status.truncated = result.truncated.stdout
        return status

    async def diff(
        self,
        *,
        staged: bool = False,
        from_: str | None = None,
        to: str | None = None,
        paths: Sequence[RuntimePath] = (),
        context_lines: int | None = None,
        max_output_bytes: int | None = None,
        cwd: RuntimePath | None = None,
        user: str | None = None,
        timeout_secs: Seconds = _timeout_secs,
    ) -> GitDiff:
        """Returns the difference between files, index and commits as a patch.

        Args:
            staged: True to compare the index with the last commit, and not the files.
            from_: The commit to compare with. Default: the index, or the last commit if `staged`.
            to: The commit to compare `from_` with. Default: the files.
            paths: The only paths to compare. Default: all.
            context_lines: The number of unchanged lines around a change. Default: 3.
            max_output_bytes: The most bytes of the patch. Default: 1 MiB.
            cwd: The directory in which git runs. Default: the template's.
            user: The user who runs git. Default: the template's.
            timeout_secs: The time limit of git.
        """
        if to is not None and from_ is None:
            raise InvalidRequest("to needs from_.", hint="Give both commits.")
        argv = ["git", "diff", "--no-color", "--no-ext-diff", *(["--cached"] if staged else [])]
        argv += [] if context_lines is None else [f"--unified={context_lines}"]
        argv += ["--end-of-options", *(commit for commit in (from_, to) if commit is not None)]
        argv += ["--", *(path_text(path) for path in paths)]
        result = await self._run("diff", argv, cwd, user, timeout_secs, max_output_bytes=max_output_bytes)
        return GitDiff(patch=result.stdout, truncated=result.truncated.stdout)

    async def commit(
        self,
        message: str,
        *,
        paths: Sequence[RuntimePath] = (),
        all: bool = False,  # noqa: A002 - the word of `git commit`
        allow_empty: bool = False,
        author: GitAuthor | Mapping[str, str] | None = None,
        cwd: RuntimePath | None = None,
        user: str | None = None,
        timeout_secs: Seconds = _timeout_secs,
    ) -> GitHead:
        """Commits the staged changes, and with `paths` or `all` those of files.

        Args:
            message: The message of the commit.
            paths: The paths to stage before. Default: none.
            all: True to stage every change before, including untracked files.
            allow_empty: True to allow a commit without changes.
            author: The author and committer, as an object or a mapping with `name` and `email`.
                Default: the settings of git in the runtime.
            cwd: The directory in which git runs. Default: the template's.
            user: The user who runs git. Default: the template's.
            timeout_secs: The time limit of git.
        """
        stage = "git add --all" if all else 'git add -- "$@"' if paths else ":"
        flags = ["--quiet", *(["--allow-empty"] if allow_empty else []), "--message", message]
        words = shlex.join(["git", *_identity(author), "commit", *flags])
        argv = _shell(f"{stage} >&2 && {words} && {_show_head}", [path_text(path) for path in paths])
        return _parse_head((await self._run("commit", argv, cwd, user, timeout_secs)).stdout)

    async def push(
        self,
        *,
        remote: str = "origin",
        branch: str = "HEAD",
        secret: str | None = None,
        username: str = "x-access-token",
        set_upstream: bool = False,
        force: bool = False,
        cwd: RuntimePath | None = None,
        user: str | None = None,
        timeout_secs: Seconds = _transfer_timeout_secs,
        on_progress: Listener | None = None,
    ) -> GitHead:
        """Sends commits to a remote.

        Args:
            remote: The name of the remote.
            branch: The branch to push, or `local:remote`. Default: the current branch.
            secret: The secret of the runtime that holds a token for the host of the remote.
            username: The user name that is sent with the token.
            set_upstream: True to make the remote branch the upstream of the local one.
            force: True to replace the commits of the remote branch if they are the last fetched
                ones (`--force-with-lease`).
            cwd: The directory in which git runs. Default: the template's.
            user: The user who runs git. Default: the template's.
            timeout_secs: The time limit of git.
            on_progress: Called with each line of git's progress as it arrives.
        """
        url = None if secret is None else await self._remote_url(remote, cwd, user)
        settings = [] if url is None else await self._credentials(secret, url, username)
        flags = [
            *_progress(on_progress),
            *(["--set-upstream"] if set_upstream else []),
            *(["--force-with-lease"] if force else []),
        ]
        argv = _shell(f'git "$@" >&2 && {_show_head}', [*settings, "push", *flags, "--", remote, branch])
        result = await self._run(
            "push",
            argv,
            cwd,
            user,
            timeout_secs,
            url=url,
            remote=remote,
            secret=secret,
            on_progress=on_progress,
        )
        return _parse_head(result.stdout)

    async def _remote_url(self, remote: str, cwd: RuntimePath | None, user: str | None) -> str:
        asked = ["git", "remote", "get-url", "--push", "--", remote]
        return (await self._run("remote", asked, cwd, user, _timeout_secs)).stdout.strip()

    async def _credentials(self, secret: str | None, url: str, username: str) -> list[str]:
        if secret is None:
            return []
        return credential_settings(await self._network.get(), secret, url, username)

    async def _run(
        self,
        verb: str,
        argv: list[str],
        cwd: RuntimePath | None,
        user: str | None,
        timeout_secs: Seconds,
        *,
        url: str | None = None,
        remote: str | None = None,
        secret: str | None = None,
        max_output_bytes: int | None = None,
        on_progress: Listener | None = None,
    ) -> CommandResult:
        lines = None if on_progress is None else ProgressLines(on_progress)
        result = await self._commands.run(
            argv,
            cwd=cwd,
            user=user,
            env=_environment,
            timeout_secs=timeout_secs,
            max_output_bytes=max_output_bytes,
            on_stderr=None if lines is None else lines.add,
        )
        if lines is not None:
            lines.end()
        if result.exit_code == 0:
            return result
        if lines is not None:
            result.stderr = without_progress(result.stderr)
        if url is None and remote is not None and not is_local(cause_of(result)):
            with suppress(GitFailed):  # The failure of the first command matters more.
                url = await self._remote_url(remote, cwd, user)
        address = None if url is None else remote_address(url)
        decision = None
        if address is not None and not is_local(cause_of(result)):
            decision = await self._decision(*address)
        raise explain_failure(verb, result, address=address, secret=secret, decision=decision)

    async def _decision(self, host: str, port: int) -> TestedNetwork | None:
        try:
            return await self._network.test(host, port=port)
        except ApiError:  # The key may lack the scope for it, and the failure of git matters more.
            return None


def _progress(on_progress: Listener | None) -> list[str]:
    """Git reports its progress only to a terminal, unless it is told to."""
    return [] if on_progress is None else ["--progress"]


def _shell(script: str, arguments: Sequence[str]) -> list[str]:
    return ["/bin/sh", "-c", script, "git", *arguments]


def _option(name: str, value: Any) -> list[str]:
    return [] if value is None else [name, str(value)]


def _identity(author: GitAuthor | Mapping[str, str] | None) -> list[str]:
    if author is None:
        return []
    one = author if isinstance(author, GitAuthor) else GitAuthor(**author)
    return ["-c", f"user.name={one.name}", "-c", f"user.email={one.email}"]


def _parse_head(stdout: str) -> GitHead:
    path, branch, commit, *_ = [*stdout.split("\n"), "", ""]
    return GitHead(path=path, branch=branch or None, commit=commit or None)
