"""Tries to reach the Internet, by name and by address. Exits 0 when nothing can be reached, 1 when something can."""

import socket
import sys

TARGETS = [("example.com", 443), ("1.1.1.1", 443), ("8.8.8.8", 53), ("169.254.169.254", 80), ("2606:4700:4700::1111", 443)]

reached = 0
for host, port in TARGETS:
    try:
        socket.create_connection((host, port), timeout=3).close()
    except OSError as error:
        print(f"{host}:{port}: {error}")
    else:
        reached += 1
        print(f"{host}:{port}: reached")

print(f"tried {len(TARGETS)}, reached {reached}")
sys.exit(1 if reached else 0)
