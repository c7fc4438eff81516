"""Tries to reach the Internet, by name and by address. Exits 0 when nothing can be reached, 1 when
something can.

Arguments replace the targets: HOST:PORT, or HOST:PORT/dns for a DNS server.
"""

import socket
import struct
import sys

TARGETS = ["example.com:443", "1.1.1.1:443", "8.8.8.8:53/dns", "169.254.169.254:80", "[2606:4700:4700::1111]:443"]
REFUSED = 5  # RFC 1035, 4.1.1


def ask(connection: socket.socket) -> None:
    """Asks a DNS server for a name. Raises an error if it refuses the name.

    With a network policy the gateway answers for every server.
    """
    name = b"".join(struct.pack("B", len(label)) + label for label in (b"example", b"com")) + b"\0"
    query = struct.pack("!6H", 1, 0x0100, 1, 0, 0, 0) + name + struct.pack("!2H", 1, 1)
    connection.sendall(struct.pack("!H", len(query)) + query)
    answer = b""
    while len(answer) < 6:
        part = connection.recv(4096)
        if part == b"":
            raise OSError("the connection ended without an answer")
        answer += part
    if answer[5] & 0xF == REFUSED:
        raise OSError("the gateway answers, and refuses the name")


def reach(target: str) -> None:
    """Raises OSError if the target cannot be reached."""
    address, _, kind = target.partition("/")
    host, _, port = address.rpartition(":")
    with socket.create_connection((host.strip("[]"), int(port)), timeout=3) as connection:
        if kind == "dns":
            ask(connection)


targets = sys.argv[1:] or TARGETS
reached = 0
for target in targets:
    try:
        reach(target)
    except OSError as error:
        print(f"{target}: {error}")
    else:
        reached += 1
        print(f"{target}: reached")

print(f"tried {len(targets)}, reached {reached}")
sys.exit(1 if reached else 0)
