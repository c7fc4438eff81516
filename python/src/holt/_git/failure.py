"""The reasons for a failure of git."""

from __future__ import annotations

import re

from .._models.command import CommandResult
from .._models.network import TestedNetwork
from ..errors import GitFailed, GitFailureReason

_causes: list[tuple[re.Pattern[str], GitFailureReason]] = [
    (re.compile("not a git repository", re.IGNORECASE), "not_a_repository"),
    (
        re.compile("nothing to commit|nothing added to commit|no changes added to commit", re.IGNORECASE),
        "nothing_to_commit",
    ),
    (
        re.compile("Please tell me who you are|unable to auto-detect email address|empty ident name", re.IGNORECASE),
        "no_identity",
    ),
    (
        re.compile(
            "could not read (?:Username|Password)|terminal prompts disabled|Authentication failed|"
            "returned error: 40[13]|Repository not found|Invalid username or (?:password|token)",
            re.IGNORECASE,
        ),
        "credentials",
    ),
    (
        re.compile(r"\[rejected\]|\[remote rejected\]|failed to push some refs|stale info", re.IGNORECASE),
        "rejected",
    ),
    (
        re.compile(
            "could not resolve host|failed to connect|couldn't connect|connection (?:refused|reset|timed out)|"
            "unable to access",
            re.IGNORECASE,
        ),
        "network",
    ),
]
"""The words by which git names the causes, in English. The first match counts."""

_local_hints: dict[GitFailureReason, str] = {
    "not_a_repository": "Give cwd: the directory of a repository.",
    "nothing_to_commit": "Change a file first, and give paths or all to stage it; or give allow_empty.",
    "no_identity": "Give author with name and email, or set user.name and user.email with git config.",
    "no_git": "Use a template that contains git, such as base-small, or install it.",
    "rejected": "Fetch and merge the commits of the remote first, or give force.",
    "timed_out": "Give a longer timeout_secs; for a large repository, also depth.",
}


def cause_of(result: CommandResult) -> GitFailureReason:
    """Returns the reason for which a git command failed."""
    if result.timed_out:
        return "timed_out"
    if result.exit_code in (126, 127):  # The program is missing or cannot run (POSIX sh, 2.8.2).
        return "no_git"
    said = f"{result.stderr}\n{result.stdout}"
    for words, reason in _causes:
        if words.search(said):
            return reason
    return "other"


def is_local(reason: GitFailureReason) -> bool:
    """Returns true for a reason that has nothing to do with the remote."""
    return reason in _local_hints


def explain_failure(
    verb: str,
    result: CommandResult,
    *,
    address: tuple[str, int] | None,
    secret: str | None,
    decision: TestedNetwork | None,
) -> GitFailed:
    """Returns the error of a failed git command, with the missing policy or secret if that is why.

    Args:
        verb: The subcommand, such as `clone`.
        result: The command that failed.
        address: The host and port of the remote; None for a command without one.
        secret: The name of the secret that was used.
        decision: The decision of the network policy on the remote; None if it is not known.
    """
    reason = cause_of(result)
    words = _last_words(result)
    message = f"git {verb} failed: {words}" if words else f"git {verb} failed with exit code {result.exit_code}"
    if reason == "timed_out":
        message = f"git {verb} did not end within its time limit."
    hint = _local_hints.get(reason, "The message has the words of git.")
    if not is_local(reason) and address is not None:
        host, port = address
        if decision is not None and not decision.allowed:
            reason = "network"
            place = host if port == 443 else f"{host}:{port}"
            ports = "" if port == 443 else f', "ports": [{port}]'
            message = (
                f"git {verb} failed: the network policy of the runtime does not allow {host}:{port} "
                f"({decision.rule}). {message}"
            )
            hint = (
                f'Allow the host: network.set({{"allow": [{{"host": "{host}"{ports}}}]}}), '
                f"or holt net set RUNTIME --allow {place}."
            )
        elif reason == "credentials":
            hint = _credentials_hint(host, secret)
        else:
            hint = "holt net log RUNTIME shows the connections. The message has the words of git."
    return GitFailed(message, reason=reason, hint=hint, exit_code=result.exit_code, stderr=result.stderr)


def _credentials_hint(host: str, secret: str | None) -> str:
    if secret is None:
        return (
            f"{host} asks for credentials. Store a token (holt secret set NAME --host {host}), create the runtime "
            "with it, and give its name as secret."
        )
    return (
        f"{host} refuses the secret {secret}. Check that its token is valid and may read or write this repository, "
        f"and give the username that {host} wants with tokens."
    )


def _last_words(result: CommandResult) -> str:
    """Returns the first line of git that names an error, or its last line."""
    text = result.stderr if result.stderr.strip() else result.stdout
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    error = re.compile("(?:fatal|error|remote: error):", re.IGNORECASE)
    return next((line for line in lines if error.match(line)), lines[-1] if lines else "")[:500]
