"""The errors of a connection that does not carry HTTP any more."""

from __future__ import annotations

import httpcore

stream_errors = (httpcore.NetworkError, httpcore.TimeoutException, OSError)
"""The errors of both clients."""
