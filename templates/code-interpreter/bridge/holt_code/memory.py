"""The list of contexts in a file, for a bridge that is started after this one was killed."""

import json
import os
import re
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from .context import Context

_MAX_BYTES = 1024 * 1024
_CONTEXT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class KnownContext:
    """A context of an earlier bridge."""

    context_id: str
    language: str
    cwd: str
    created_at: datetime


class ContextMemory:
    """A file with the contexts. A bridge without it begins with none."""

    def __init__(self, file: Path):
        self._file = file

    def write(self, contexts: Iterable[Context]) -> None:
        """Replaces the list. A full disk loses only the memory."""
        with suppress(OSError):
            descriptor, fresh = tempfile.mkstemp(dir=self._file.parent, prefix=self._file.stem)
            with os.fdopen(descriptor, "w") as file:
                json.dump([context.describe() for context in contexts], file)
            os.replace(fresh, self._file)

    def forget(self) -> None:
        """Removes the list at an orderly end."""
        with suppress(OSError):
            self._file.unlink()

    def read(self) -> list[KnownContext]:
        """Returns the contexts of the list. The file can be anything, because code can write it."""
        try:
            descriptor = os.open(self._file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return []
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                return []
            listed = json.loads(os.read(descriptor, _MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return []
        finally:
            os.close(descriptor)
        known = [_known(one) for one in listed] if isinstance(listed, list) else []
        return [one for one in known if one is not None]


def _known(one: Any) -> KnownContext | None:
    try:
        created_at = datetime.fromisoformat(one["created_at"])
        known = KnownContext(str(one["context_id"]), str(one["language"]), str(one["cwd"]), created_at)
    except (KeyError, TypeError, ValueError):
        return None
    return known if _CONTEXT_ID.fullmatch(known.context_id) and created_at.tzinfo is not None else None
