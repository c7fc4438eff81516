"""Dockerfiles: their text, and the directory that they read."""

from __future__ import annotations

import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Union

LocalPath = Union[str, "PathLike[str]"]
"""A path of this machine."""


@dataclass(frozen=True)
class Dockerfile:
    """A Dockerfile: its text, its path and its context, if any."""

    text: str
    path: Path | None
    """The path; None for a text."""
    context: Path | None
    """The directory that COPY and ADD read; None for none."""


def is_dockerfile_text(text_or_path: LocalPath) -> bool:
    """Returns true for the text of a Dockerfile, false for a path.

    A text has several lines, or begins as a Dockerfile does.
    """
    if not isinstance(text_or_path, str):
        return False
    return "\n" in text_or_path or re.match(r"\s*(?:FROM|ARG)\s|\s*#", text_or_path, re.I) is not None


def read_dockerfile(text_or_path: LocalPath, context: LocalPath | None) -> Dockerfile:
    """Reads a Dockerfile. The default context of a file is its directory."""
    wanted = None if context is None else Path(context)
    if is_dockerfile_text(text_or_path):
        return Dockerfile(str(text_or_path), None, wanted)
    path = Path(text_or_path)
    return Dockerfile(path.read_text("utf-8"), path, wanted or path.parent)


def reads_context(text: str) -> bool:
    """Returns true if a Dockerfile may read its context: it has a COPY, an ADD or a mount.

    Doubtful cases are true, such as a line of a heredoc that begins with such a word.
    """
    joined = re.sub(r"[\\`][ \t]*\r?\n", "", text)
    return re.search(r"^\s*(?:COPY|ADD)\s|--mount", joined, re.I | re.M) is not None
