"""The connection of the bridge to a kernel: its file, its addresses and its messages."""

import hmac
import json
import re
import secrets
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jupyter_client.adapter import adapt
from jupyter_client.connect import write_connection_file
from jupyter_client.session import DELIM, Session

from .channel import Channel
from .limits import MAX_PARSED_BYTES

_KINDS = {"shell": "DEALER", "control": "DEALER", "iopub": "SUB"}
_WAITING_MESSAGES = 16

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+\\?"?|[{\[:,]', re.DOTALL)
_WEIGHTS = {ord("{"): 240, ord("["): 90, ord(":"): 100, ord(","): 70}
"""Bytes of memory that a value of JSON takes, by the byte that announces it."""

_OTHER_BYTES = bytes(set(range(256)) - _WEIGHTS.keys())


class Connection:
    """
    The channels of one kernel. Messages over TCP are signed with a key of it. Unix sockets are in a
    directory of the bridge's user, who could read the key.
    """

    def __init__(
        self,
        directory: Path,
        *,
        is_ipc: bool,
        waits: bool,
        on_fault: Callable[[str], None],
        on_full: Callable[[], None],
    ):
        """
        `waits` is for a kernel that waits for its reader instead of losing messages. `on_fault` and
        `on_full` are those of its channels.
        """
        key = b"" if is_ipc else secrets.token_hex(16).encode()
        name = f"kernel-{secrets.token_hex(8)}"
        self.file = directory / f"{name}.json"
        self.log = directory / f"{name}.log"
        self._sockets_at = str(directory / name)
        names = ("shell", "iopub", "stdin", "control", "hb")
        ports = dict(zip(names, range(1, 6) if is_ipc else _free_ports(5), strict=True))
        write_connection_file(
            str(self.file),
            ip=self._sockets_at if is_ipc else "127.0.0.1",
            key=key,
            transport="ipc" if is_ipc else "tcp",
            **{f"{name}_port": port for name, port in ports.items()},
        )
        self.session = Session(key=key, username="holt", check_pid=False)
        # A kernel that waits must not be far ahead. Others lose messages at a limit.
        ahead = _WAITING_MESSAGES if waits else None
        self._channels = {
            channel: Channel(
                f"{self._sockets_at}-{ports[channel]}" if is_ipc else ("127.0.0.1", ports[channel]),
                kind,
                0 if channel == "control" else ahead,  # Nobody reads its replies.
                on_fault=on_fault,
                on_full=on_full,
            )
            for channel, kind in _KINDS.items()
        }

    def send(self, channel: str, message: dict[str, Any]) -> None:
        """Sends a message of `session.msg`."""
        self._channels[channel].send(self.session.serialize(message))

    async def receive(self, channel: str) -> dict[str, Any] | None:
        """Returns the next message of a channel, or null if it is malformed."""
        frames = await self._channels[channel].receive()
        try:
            return decode(self.session, frames)
        except Exception:  # The code in a kernel can send anything.
            return None

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()
        for path in (self.file, self.log, *self.file.parent.glob(f"{self.file.stem}-*")):
            path.unlink(missing_ok=True)


def decode(session: Session, frames: list[bytes]) -> dict[str, Any] | None:
    """
    Returns the parts of a message that the bridge reads, or null if its signature is wrong. It may
    raise anything. `Session.deserialize` also parses the dates, which takes longer than the rest. A
    content with too many values is left out, and `metadata.holt_omitted` has its size.
    """
    at = frames.index(DELIM) + 1
    signature, parts = frames[at], frames[at + 1 : at + 5]
    if not hmac.compare_digest(signature, session.sign(parts)):
        return None
    if is_heavy(parts[3]):
        parts[3] = b'{"metadata": {"holt_omitted": {"*": %d}}}' % len(parts[3])
    if any(map(is_heavy, parts)):
        return None
    header, parent, metadata, content = (json.loads(part) for part in parts)
    if not isinstance(header, dict) or not isinstance(parent, dict):
        return None
    message = {"header": header, "parent_header": parent, "metadata": metadata, "content": content}
    return adapt(message | {"msg_id": header["msg_id"], "msg_type": header["msg_type"]})


def is_heavy(text: bytes, most: int = MAX_PARSED_BYTES) -> bool:
    """Returns true if the values of a JSON text would take more than `most` bytes of memory."""
    if len(text) * max(_WEIGHTS.values()) <= most:
        return False
    counts = text.translate(None, _OTHER_BYTES)
    if sum(counts.count(byte) * weight for byte, weight in _WEIGHTS.items()) <= most:
        return False
    # Most of those bytes may be in texts.
    weight = 0
    for token in _TOKEN.finditer(text):
        weight += _WEIGHTS.get(text[token.start()], 0)
        if weight > most:
            return True
    return False


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
