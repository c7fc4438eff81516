"""A secret of a runtime as the credentials of git."""

from __future__ import annotations

import shlex
from posixpath import basename
from urllib.parse import SplitResult, unquote, urlsplit

from .._models.network import RuntimeNetwork, RuntimeSecret
from ..errors import GitFailed

_ports = {"http": 80, "https": 443}


def remote_address(url: str) -> tuple[str, int] | None:
    """Returns the host and port of a repository; None for one that is not reached over HTTP."""
    parts = _split(url)
    if parts is None or parts.hostname is None:
        return None
    return parts.hostname, parts.port or _ports[parts.scheme]


def directory_of(url: str) -> str | None:
    """Returns the directory that git makes for a repository (git-clone(1)).

    It is the last part of the address without `.git`. None if the address has no such part.
    """
    parts = _split(url)
    path = (url if parts is None else parts.path).rstrip("/").removesuffix("/.git")
    name = basename(path if parts is not None else path.replace(":", "/")).removesuffix(".git")
    return None if name in ("", ".", "..") else unquote(name)


def credential_settings(network: RuntimeNetwork, name: str, url: str, username: str) -> list[str]:
    """Returns settings with which git sends the token of a secret with its first request.

    A helper prints the token from a variable of the runtime (gitcredentials(7)), so it is in no
    argument, address or file. The empty helper removes those of the runtime's own settings.

    Raises `GitFailed` if the secret cannot be used for the repository. A placeholder that the
    gateway does not replace only looks like a wrong password.
    """
    variable = _usable(network, name, url).env_name
    printed = f"printf 'username=%s\\npassword=%s\\n' {shlex.quote(username)} \"${variable}\""
    return [
        *("-c", "http.proactiveAuth=basic"),
        *("-c", "credential.helper="),
        *("-c", f'credential.helper=!f() {{ test "$1" = get && {printed}; }}; f'),
    ]


def _usable(network: RuntimeNetwork, name: str, url: str) -> RuntimeSecret:
    parts = _split(url)
    if parts is None or parts.scheme != "https" or parts.hostname is None:
        raise _refusal("secret needs an address that begins with https://.", "Give the https address.")
    if parts.password is not None:
        raise _refusal("url contains a password, and secret was given.", "Remove the user and the password from url.")
    held = {secret.name: secret for secret in network.secrets}
    if name not in held:
        others = f"the secrets {', '.join(held)}" if held else "no secrets"
        raise _refusal(
            f"The runtime {network.runtime_id} does not have the secret {name}. It has {others}.",
            f'Create the runtime with the secret: secrets=["{name}"].',
        )
    secret = held[name]
    if not secret.available:
        raise _refusal(f"The secret {name} was deleted.", "Store it again, and make a new runtime with it.")
    if not secret.inside:
        _check_use(secret, parts.hostname)
    return secret


def _check_use(secret: RuntimeSecret, host: str) -> None:
    if not any(_covers(one, host) for one in secret.hosts):
        raise _refusal(
            f"The secret {secret.name} is not for {host}, but for {', '.join(secret.hosts)}.",
            f"Add the host: holt secret set {secret.name} --host {host}.",
        )
    if secret.header != "authorization":
        raise _refusal(
            f"The secret {secret.name} is for the header {secret.header}. Git sends the header authorization.",
            "Store the token in a secret without header and format.",
        )


def _covers(pattern: str, host: str) -> bool:
    return host.endswith(pattern[1:]) if pattern.startswith("*.") else pattern == host


def _refusal(message: str, hint: str) -> GitFailed:
    return GitFailed(message, reason="credentials", hint=hint)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        return parts if parts.scheme in _ports and parts.port != 0 else None
    except ValueError:  # The port is no number.
        return None
