"""The signatures of webhooks (Standard Webhooks 1.0)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ._options import Seconds, seconds
from .errors import HoltError

_prefix = "whsec_"
_most_digits = 12
"""The most digits of a time in seconds."""
_tolerance_secs = 300
"""The largest difference of the clocks of sender and receiver, and the longest way of a message."""


class InvalidSignature(HoltError):
    """A message that does not come from the service, or is too old. Answer it with 400."""

    default_code = "invalid_signature"
    default_hint = "Answer 400. Check the secret of the webhook, and the clock of this machine."


class WebhookVerifier:
    """Verifies that messages come from the service, by the secret of the webhook."""

    def __init__(self, secret: str | Sequence[str], *, tolerance_secs: Seconds = _tolerance_secs) -> None:
        """Makes a verifier.

        Args:
            secret: The secret of the webhook; during a rotation, also several.
            tolerance_secs: The most that the time of a message may differ from now.
        """
        secrets = [secret] if isinstance(secret, str) else secret
        self._keys = [_key_of(one) for one in secrets]
        self._tolerance_secs = seconds(tolerance_secs)

    def verify(self, body: str | bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        """Returns the message of a request, or raises `InvalidSignature`.

        Args:
            body: The body as it came. A body that was parsed and written again does not verify.
            headers: The headers of the request. Capitals in their names make no difference.
        """
        found = {name.lower(): value for name, value in headers.items()}
        message_id, timestamp = found.get("webhook-id"), found.get("webhook-timestamp")
        signatures = found.get("webhook-signature")
        if not message_id or not timestamp or not signatures:
            raise InvalidSignature("The request has no webhook-id, webhook-timestamp or webhook-signature")
        if not timestamp.isascii() or not timestamp.isdigit() or len(timestamp) > _most_digits:
            raise InvalidSignature("The webhook-timestamp is not a number of seconds")
        if abs(time.time() - int(timestamp)) > self._tolerance_secs:
            raise InvalidSignature("The message is too old, or from the future")
        raw = body.encode() if isinstance(body, str) else body
        if not self._is_signed(_bytes_of(f"{message_id}.{timestamp}.") + raw, signatures):
            raise InvalidSignature("No signature of the message is right")
        return json.loads(raw)

    def _is_signed(self, content: bytes, signatures: str) -> bool:
        wanted = [base64.b64encode(hmac.digest(key, content, hashlib.sha256)) for key in self._keys]
        given = [_bytes_of(text[3:]) for text in signatures.split(" ") if text.startswith("v1,")]
        return any(hmac.compare_digest(one, other) for one in wanted for other in given)


def _bytes_of(header: str) -> bytes:
    """Returns the bytes of a header. Some servers decode wrong bytes to surrogates."""
    return header.encode("utf-8", "surrogatepass")


def _key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_prefix), validate=True)
    except ValueError:
        key = b""
    if not key:
        # Anybody can sign with an empty key.
        raise InvalidSignature("The secret is not one of a webhook: whsec_ and base64")
    return key
