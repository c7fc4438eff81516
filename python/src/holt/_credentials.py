"""The address of the service and a key for it, found as the TypeScript client finds them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

from .errors import Unauthenticated

_default_url = "http://127.0.0.1:4658"
_default_state_dir = "/var/lib/holt"


@dataclass(frozen=True)
class Credentials:
    """The address of a service, and a key for it. The key is None where none is known."""

    url: str
    api_key: str | None = field(repr=False)


def credentials_path(env: Mapping[str, str] = os.environ) -> Path:
    """Returns the path of the file in which the local service stores its address and first key."""
    return Path(env.get("HOLT_STATE_DIR") or _default_state_dir) / "credentials.json"


def find_credentials(url: str | None, api_key: str | None, env: Mapping[str, str] = os.environ) -> Credentials:
    """Returns the address and the key: as given, else of the environment, else of the file.

    The environment has HOLT_URL and HOLT_API_KEY. The file's key is used for the file's own address
    only, so that no other server ever receives it. Space around them is dropped, such as the line
    break of a key that was read from a file.
    """
    url = (url or env.get("HOLT_URL") or "").strip() or None
    api_key = _key_of(api_key or env.get("HOLT_API_KEY") or "")
    if url is not None and api_key is not None:
        return Credentials(url, api_key)
    file = read_credentials_file(credentials_path(env))
    chosen = url or (file.url if file is not None else _default_url)
    if api_key is None and file is not None and _origin_of(chosen) == _origin_of(file.url):
        api_key = file.api_key
    return Credentials(chosen, api_key)


def read_credentials_file(path: Path) -> Credentials | None:
    """Reads the file of credentials; None if there is none."""
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _unusable(path, error.strerror or "it cannot be read") from error
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise _unusable(path, "it is not JSON") from error
    values = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    url, key = values.get("url"), values.get("key")
    if not isinstance(url, str) or not isinstance(key, str):
        raise _unusable(path, "it has no url and key")
    return Credentials(url, key)


def _key_of(text: str) -> str | None:
    """Returns a key that a header can hold. An error of the header itself would repeat the key."""
    key = text.strip()
    if not key.isascii() or not key.isprintable():
        hint = "Correct api_key or HOLT_API_KEY: a key has only letters, digits and signs of ASCII."
        raise Unauthenticated("The API key has a character that no key has", hint=hint)
    return key or None


def _origin_of(url: str) -> tuple[str, str | None, int | None] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    return (parts.scheme, parts.hostname, port) if parts.hostname else None


def _unusable(path: Path, why: str) -> Unauthenticated:
    hint = "Run as the user that runs the service, or set HOLT_URL and HOLT_API_KEY."
    return Unauthenticated(f"Cannot use the credentials in {path}: {why}", hint=hint)
