"""Measures jupyter_client with a kernel of this machine, for row B14.

It reads one JSON line for each round, and answers with the milliseconds of each operation:
{"what": "warm" | "first" | "output", "count": N}. `first` is the first code of a kernel that has
just started.
"""

import json
import sys
import time

from jupyter_client.manager import start_new_kernel

TIMEOUT_SECS = 120
CODE = {"warm": "1 + 1", "first": "1 + 1", "output": "for _ in range(20 * 1024): print('x' * 1023)"}
CHARACTERS = {"warm": 0, "first": 0, "output": 20 * 1024 * 1024}


def execute(client, what):
    characters = 0

    def take(message):
        nonlocal characters
        if message["msg_type"] == "stream":
            characters += len(message["content"]["text"])

    started = time.perf_counter()
    reply = client.execute_interactive(CODE[what], allow_stdin=False, timeout=TIMEOUT_SECS, output_hook=take)
    ms = (time.perf_counter() - started) * 1000
    assert reply["content"]["status"] == "ok", reply["content"]
    assert characters == CHARACTERS[what], characters
    return ms


def execute_first():
    manager, client = start_new_kernel(startup_timeout=TIMEOUT_SECS)
    try:
        return execute(client, "first")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def main():
    manager, client = start_new_kernel(startup_timeout=TIMEOUT_SECS)
    try:
        execute(client, "warm")
        print("ready", flush=True)
        for line in sys.stdin:
            round_ = json.loads(line)
            what, count = round_["what"], round_["count"]
            times = [execute_first() if what == "first" else execute(client, what) for _ in range(count)]
            print(json.dumps(times), flush=True)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


main()
