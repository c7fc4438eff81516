"""Code that sets environment variables for one run, and restores them."""

import json
import shlex
from collections.abc import Mapping

from .errors import Refused


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
            + "; ".join(f"export {name}={shlex.quote(value)}" for name, value in env.items()),
            'eval "$__holt_before"; unset __holt_before',
        )
    raise Refused(400, "env_not_supported", f"Runs in {language} have no variables of their own. Set them in the code.")
