"""The rules of a .dockerignore."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from ..errors import InvalidRequest

_spaces = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""The characters around a pattern that do not count."""
_class = re.compile(r"\[(\^?)((?:\\.|[^\]\\])+)\]", re.S)
_class_item = re.compile(r"(\\.|[^\\])(?:-(\\.|[^\\]))?", re.S)


@dataclass(frozen=True)
class _Rule:
    pattern: re.Pattern[str]
    is_exception: bool
    """True for a rule with `!`, which includes again."""


class IgnoreFile:
    """The rules of a .dockerignore.

    They are read as Docker reads them (docs.docker.com/build/concepts/context, "Syntax"). Each line
    has one pattern, relative to the context. `*`, `?`, `[a-z]` and `**` (any number of directories)
    are wildcards. `!` marks exceptions, and `#` comments. The last line that matches decides.
    """

    def __init__(self, text: str, name: str) -> None:
        """Reads the rules. `name` is for errors."""
        lines = text.removeprefix("\ufeff").split("\n")
        rules = (_rule_of(line, f"{name}, line {number}") for number, line in enumerate(lines, 1))
        self._rules = [rule for rule in rules if rule is not None]
        self.has_exceptions = any(rule.is_exception for rule in self._rules)
        """True if a path below an excluded directory may be included, so that it must be read."""

    def ignores(self, path: str) -> bool:
        """Returns true if the rules exclude a path, by itself or by a directory above it.

        The path is relative to the context, with slashes and no slash at the end.
        """
        names = path.split("/")
        up_to = ["/".join(names[: count + 1]) for count in range(len(names))]
        ignored = False
        for rule in self._rules:
            if rule.is_exception == ignored and any(map(rule.pattern.fullmatch, up_to)):
                ignored = not rule.is_exception
        return ignored


def _rule_of(line: str, where: str) -> _Rule | None:
    if line.startswith("#"):
        return None
    text = line.strip(_spaces)
    is_exception = text.startswith("!")
    bare = text.removeprefix("!").strip(_spaces)
    if bare == "":
        if is_exception:
            raise _bad_pattern(text, where)
        return None
    clean = re.sub(r"^/{2,}", "/", posixpath.normpath(bare))
    source = _translate(clean.removeprefix("/") or clean)
    if source is None:
        raise _bad_pattern(text, where)
    return _Rule(re.compile(source, re.S), is_exception)


def _bad_pattern(text: str, where: str) -> InvalidRequest:
    hint = (
        "Patterns are those of a .dockerignore: *, ?, [a-z], ** and ! for exceptions. "
        "A backslash quotes the next character."
    )
    return InvalidRequest(f"{where}: {text} is not a pattern", hint=hint)


def _translate(pattern: str) -> str | None:
    """Returns the regular expression of a pattern; None if the pattern is invalid."""
    source, at = "", 0
    while at < len(pattern):
        part = _part_at(pattern, at)
        if part is None:
            return None
        source += part[0]
        at += part[1]
    return source


def _part_at(pattern: str, at: int) -> tuple[str, int] | None:
    """Returns the expression of the next part of a pattern, and the length of the part."""
    char = pattern[at]
    if char == "*":
        return _any_directories(pattern, at) if pattern.startswith("**", at) else ("[^/]*", 1)
    if char == "?":
        return ("[^/]", 1)
    if char == "[":
        return _class_at(pattern, at)
    if char != "\\":
        return (re.escape(char), 1)
    quoted = pattern[at + 1 : at + 2]
    return (re.escape(quoted), 2) if quoted else None


def _any_directories(pattern: str, at: int) -> tuple[str, int]:
    """Returns the expression for `**`.

    At the end it matches anything. Before a name it matches any number of directories, and includes
    the slash after it. Alone before a plain name it matches anything, too.
    """
    has_slash = pattern.startswith("/", at + 2)
    length = 3 if has_slash else 2
    rest = pattern[at + length :]
    is_plain_end = at == 0 and not has_slash and re.search(r"[*?\[\]\\]", rest) is None
    return (".*" if rest == "" or is_plain_end else "(?:.*/)?", length)


def _class_at(pattern: str, start: int) -> tuple[str, int] | None:
    """Returns the expression for `[a-z]` or `[^a-z]`, with special characters escaped."""
    match = _class.match(pattern, start)
    if match is None:
        return None
    ranges = ""
    for item in _class_item.finditer(match[2]):
        first = item[1].removeprefix("\\") or "\\"
        last = first if item[2] is None else item[2].removeprefix("\\") or "\\"
        if (item[1] == "-" and item[2] is None) or last < first:
            return None
        ranges += f"{_code_point(first)}-{_code_point(last)}"
    return (f"[{match[1]}{ranges}]", len(match[0]))


def _code_point(char: str) -> str:
    return f"\\U{ord(char):08x}"
