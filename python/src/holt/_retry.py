"""The retry policy: which failed requests are sent again, and when."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from .errors import ApiError, HoltConnectionError, HoltError

_first_delay_secs = 0.1
_longest_delay_secs = 5.0
_longest_retry_after_secs = 60.0
"""The longest `Retry-After` that the client waits for. A longer one is an error for the caller."""
_idempotent_methods = ("GET", "PUT", "DELETE")


@dataclass(frozen=True)
class Retry:
    """A request that failed and is sent again."""

    error: HoltError
    delay_secs: float
    retries_left: int | None
    """The largest number of further tries, this one included.

    None for a request that still runs: its answer is requested until the time limit.
    """


@dataclass(frozen=True)
class FailedTry:
    """The facts about a request that failed."""

    method: str
    error: HoltError
    tries: int
    max_retries: int
    keyed: bool
    """True if the service recognises a repetition."""
    repeatable: bool
    """False if the body is gone after the first try."""
    secs_left: float
    """The time left to wait for an answer."""


def is_under_way(error: HoltError) -> bool:
    """Returns True if the first request of this Idempotency-Key still runs."""
    return isinstance(error, ApiError) and error.wire_code == "idempotency_in_progress"


def retry_delay_secs(failed: FailedTry) -> float | None:
    """Returns the delay before a request is sent again, or None for no retry.

    A request that the service refused before doing anything may always be sent again. These are
    429, 503 with `Retry-After`, and a refused connection. A request that may have been done is sent
    again only if a repetition has no further effect. A first request that still runs is no
    failure: its answer is requested until the time limit of the request.
    """
    error = failed.error
    if is_under_way(error):
        return backoff_secs(failed.tries) if failed.secs_left > 0 else None
    if failed.tries > failed.max_retries or not failed.repeatable:
        return None
    twice_is_once = failed.keyed or failed.method in _idempotent_methods
    if isinstance(error, HoltConnectionError):
        may_repeat = error.reason == "refused" or (error.reason == "lost" and twice_is_once)
        return backoff_secs(failed.tries) if may_repeat else None
    if not isinstance(error, ApiError) or not _is_temporary(error, twice_is_once):
        return None
    if error.retry_after_secs is None:
        return backoff_secs(failed.tries)
    if error.retry_after_secs > _longest_retry_after_secs:
        return None
    return error.retry_after_secs + _first_delay_secs * random.random()


def backoff_secs(tries: int) -> float:
    """Returns a delay that doubles from 0.1 s to 5 s. Its upper half is random."""
    full = min(_longest_delay_secs, _first_delay_secs * 2 ** min(tries - 1, 16))
    return full / 2 + full / 2 * random.random()


def build_to_wait_for(error: HoltError) -> str | None:
    """Returns the build of the template that a refused request needs, or None."""
    if error.code != "unavailable" or error.details.get("template_state") != "building":
        return None
    build_id: object = error.details.get("build_id")
    return build_id if isinstance(build_id, str) else None


def may_resume(error: HoltError) -> bool:
    """Returns true if the connection failed, so that a stream may be opened again."""
    if isinstance(error, ApiError):
        return error.http_status == 503
    return isinstance(error, HoltConnectionError) and error.reason != "timeout"


def parse_retry_after(value: str | None) -> float | None:
    """Returns the value of `Retry-After`, seconds or a date (RFC 9110, 10.2.3), in seconds."""
    if value is None:
        return None
    text = value.strip()
    if text.isdecimal() and len(text) < 10:
        return float(text)
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=timezone.utc)
    return max(0.0, (at - datetime.now(timezone.utc)).total_seconds())


def _is_temporary(error: ApiError, twice_is_once: bool) -> bool:
    # A wait changes neither a quota nor a template that could not be made. A build takes longer
    # than a request should wait; its caller waits for the end of the build.
    if error.wire_code == "quota_exceeded" or error.details.get("template_state") == "failed":
        return False
    # The change is stored, and the service has waited for its hosts already.
    if error.details.get("reason") == "not_in_force":
        return False
    if build_to_wait_for(error) is not None:
        return False
    if error.http_status == 429:
        return True
    return error.http_status == 503 and (twice_is_once or error.retry_after_secs is not None)
