"""The answers of git."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Union

GitChange = Literal["modified", "added", "deleted", "renamed", "copied", "type_changed", "unmerged"]
"""A change of a file, compared with the last commit or with the index."""


@dataclass(kw_only=True)
class GitHead:
    """A repository at its present commit."""

    path: str
    """The root of the working tree, as an absolute path."""
    branch: str | None
    """The current branch; None if no branch is checked out."""
    commit: str | None
    """The current commit; None in an empty repository."""


@dataclass(kw_only=True)
class GitStatusEntry:
    """A file that differs from the last commit, or is not tracked."""

    path: str
    """The path from the root of the repository."""
    previous_path: str | None = None
    """The earlier path of a renamed or copied file; None for others."""
    index: GitChange | None = None
    """The change that the next commit will contain; None if there is none."""
    worktree: Union[GitChange, Literal["untracked"], None] = None
    """The change that is not staged; None if there is none."""


@dataclass(kw_only=True)
class GitStatus:
    """The state of a working tree."""

    branch: str | None
    """The current branch; None if no branch is checked out."""
    commit: str | None
    """The current commit; None before the first one."""
    upstream: str | None
    """The upstream branch, such as `origin/main`; None if there is none."""
    ahead: int
    """The number of commits that the upstream lacks; 0 without an upstream."""
    behind: int
    """The number of commits that the upstream has in addition; 0 without an upstream."""
    entries: list[GitStatusEntry] = field(default_factory=list[GitStatusEntry])
    truncated: bool = False
    """True if there are more files than one answer holds."""

    @property
    def clean(self) -> bool:
        """True if nothing differs from the last commit, and no file is untracked."""
        return not self.entries


@dataclass(kw_only=True)
class GitDiff:
    """A patch."""

    patch: str
    """The patch in the unified format of git; empty if nothing differs."""
    truncated: bool
    """True if the patch is longer than `max_output_bytes`, and its end is missing."""

    def __str__(self) -> str:
        return self.patch


@dataclass(kw_only=True)
class GitAuthor:
    """The author and committer of a commit."""

    name: str
    email: str
