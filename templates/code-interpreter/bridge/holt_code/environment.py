"""Code that sets environment variables: for one run, or for good."""

import json
import os
import re
import shlex
from collections.abc import Mapping

from .bound import Changes
from .errors import Refused

_SHELL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def setting(language: str, env: Mapping[str, str]) -> tuple[str, str]:
    """
    Returns code that sets variables in a kernel, and code that restores them. Raises `Refused` for
    a language without such code.
    """
    if language in ("javascript", "typescript"):
        return (
            "void (() => { const env = " + json.dumps(dict(env)) + "; const before = {};"
            " for (const name in env) { before[name] = Deno.env.get(name); Deno.env.set(name, env[name]) }"
            " globalThis[Symbol.for('holt.env')] = before })()",
            "void (() => { const before = globalThis[Symbol.for('holt.env')];"
            " for (const name in before) before[name] === undefined"
            " ? Deno.env.delete(name) : Deno.env.set(name, before[name]) })()",
        )
    if language == "bash":
        names = " ".join(env)
        return (
            f"__holt_before=$(for n in {names}; do if [ -n \"${{!n+set}}\" ];"
            " then printf 'export %s=%q\\n' \"$n\" \"${!n}\"; else printf 'unset %s\\n' \"$n\"; fi; done); "
            + "; ".join(f"export {name}={_in_shell(value)}" for name, value in env.items()),
            'eval "$__holt_before"; unset __holt_before',
        )
    raise Refused(400, "env_not_supported", f"Runs in {language} have no variables of their own. Set them in the code.")


def changing(language: str, changes: Changes) -> str | None:
    """Returns code that changes variables in a kernel for good. Null for a language without such code."""
    if language in ("javascript", "typescript"):
        return (
            f"void (() => {{ const env = {json.dumps(changes)};"
            " for (const name in env) env[name] === null ? Deno.env.delete(name) : Deno.env.set(name, env[name]) })()"
        )
    if language == "bash":
        named = {name: value for name, value in changes.items() if _SHELL_NAME.fullmatch(name)}
        return "; ".join(
            f"unset {name}" if value is None else f"export {name}={_in_shell(value)}" for name, value in named.items()
        )
    if language == "r":
        return "; ".join(
            f"Sys.unsetenv({_in_r(name)})"
            if value is None
            else f"do.call(Sys.setenv, setNames(list({_in_r(value)}), {_in_r(name)}))"
            for name, value in changes.items()
        )
    return None


def _in_shell(text: str) -> str:
    """Returns a text as Bash reads it. Messages to kernels are UTF-8, and a variable may be other bytes."""
    if text.isascii():
        return shlex.quote(text)
    return "$'" + "".join(f"\\x{byte:02x}" for byte in os.fsencode(text)) + "'"


def _in_r(text: str) -> str:
    """
    Returns a text as R reads it, byte by byte. Literals of R have other escapes than JSON: no surrogate pairs, and
    `\\u` depends on the locale (https://cran.r-project.org/doc/manuals/r-release/R-lang.html#Literal-constants).
    """
    return f"rawToChar(as.raw(c({','.join(str(byte) for byte in os.fsencode(text))})))"
