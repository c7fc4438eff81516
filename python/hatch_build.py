"""Makes the synchronous client of the asynchronous one, when the package is built or installed.

`src/holt/_async` is the one source. Each of its modules becomes a module of `src/holt/_sync`:
`await`, `async with` and `async for` lose their first word, and names lose their `Async`. Run it by
hand after a change: `python hatch_build.py`.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tokenize
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # By hand, without the build tool.
    BuildHookInterface = object  # type: ignore[assignment,misc]

NAMES = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "aclose": "close",
    "aiter_bytes": "iter_bytes",
    "aiter_raw": "iter_raw",
    "anext": "next",
    "AsyncByteStream": "SyncByteStream",
    "handle_async_request": "handle_request",
    "aread": "read",
    "_async": "_sync",
    "async_parts": "sync_parts",
    "StopAsyncIteration": "StopIteration",
}
"""The names whose synchronous counterpart is more than the name without `Async`."""

DROPPED = ("async", "await")


def sync_source(source: str) -> str:
    """Returns the synchronous counterpart of a module."""
    lines = source.splitlines(keepends=True)
    edits: list[tuple[int, int, int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        (row, start), (end_row, end) = token.start, token.end
        if token.type == tokenize.NAME and token.string in DROPPED:
            # The space behind the word goes, too.
            edits.append((row, start, end + 1, ""))
        elif token.type == tokenize.NAME:
            name = sync_name(token.string)
            if name != token.string:
                edits.append((row, start, end, name))
        elif token.type in TEXTS:
            edits.extend(_text_edits(token, lines))
    for row, start, end, text in reversed(edits):
        line = lines[row - 1]
        lines[row - 1] = line[:start] + text + line[end:]
    return "".join(lines)


TEXTS = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


def sync_name(name: str) -> str:
    """Returns the synchronous counterpart of a name."""
    return NAMES.get(name) or re.sub(r"^(_*)Async(?=[A-Z])", r"\1", name)


def _text_edits(token: tokenize.TokenInfo, lines: list[str]) -> list[tuple[int, int, int, str]]:
    """Returns the edits of a text: examples in docstrings, and annotations in quotes."""
    edits: list[tuple[int, int, int, str]] = []
    for row in range(token.start[0], token.end[0] + 1):
        line = lines[row - 1]
        begin = token.start[1] if row == token.start[0] else 0
        stop = token.end[1] if row == token.end[0] else len(line)
        for match in re.finditer(r"\b(?:async|await) (?=\w)|\b\w+\b", line[begin:stop]):
            word = match.group()
            text = "" if word.strip() in DROPPED and word.endswith(" ") else sync_name(word)
            if text != word:
                edits.append((row, begin + match.start(), begin + match.end(), text))
    return edits


def generate(root: Path, source_path: str = "src/holt/_async", target_path: str = "src/holt/_sync") -> list[Path]:
    """Writes the synchronous modules, and returns their paths."""
    source, target = root / source_path, root / target_path
    wanted = {path.name: path for path in sorted(source.glob("*.py"))}
    target.mkdir(exist_ok=True)
    for stale in target.glob("*.py"):
        if stale.name not in wanted:
            stale.unlink()
    shutil.rmtree(target / "__pycache__", ignore_errors=True)
    made: list[Path] = []
    for name, path in wanted.items():
        text = sync_source(path.read_text("utf-8"))
        place = target / name
        if not place.exists() or place.read_text("utf-8") != text:
            place.write_text(text, "utf-8")
        made.append(place)
    return made


class SyncClientHook(BuildHookInterface):  # type: ignore[misc,valid-type]
    """The hook of hatchling, which runs before every build, also of an editable install."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Makes the modules before the files of the build are collected."""
        generate(Path(self.root))  # type: ignore[attr-defined]


if __name__ == "__main__":
    for path in generate(Path(__file__).parent):
        print(path, file=sys.stderr)
