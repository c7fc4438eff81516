"""Measures E2B's client or Holt's own in a sandbox, for row B16.

The argument names the client: `e2b` or `holt`. The program reads one JSON line for each step, and
answers with the milliseconds of each part:
{"step": "first"} makes a sandbox, and runs a command in it. The second time includes the first.
{"step": "later"} runs a command, writes 1 MiB and reads it.
{"step": "remove"} removes the sandbox, and answers with no time.
The variables of each client name the service.
"""

import json
import sys
import time

PATH = "/home/user/file"
MIB = 2**20
LIFE_SECS = 3600
TEXT = b"some bytes that are not all the same; "
CONTENT = (TEXT * (MIB // len(TEXT) + 1))[:MIB]


class E2bClient:
    """E2B's published client."""

    def __init__(self):
        from e2b import Sandbox

        self._sandboxes = Sandbox

    def create(self):
        # A retry would hide a failed request.
        self._sandbox = self._sandboxes.create("base", timeout=LIFE_SECS, retries=0)

    def command(self):
        assert self._sandbox.commands.run("true").exit_code == 0

    def write(self):
        self._sandbox.files.write(PATH, CONTENT)

    def read(self):
        assert self._sandbox.files.read(PATH, format="bytes") == CONTENT

    def remove(self):
        assert self._sandbox.kill()


class HoltClient:
    """The client of this repository."""

    def __init__(self):
        from holt import Holt

        self._holt = Holt(max_retries=0)

    def create(self):
        self._runtime = self._holt.runtimes.create(isolation="gvisor")

    def command(self):
        # The command line of E2B's clients runs in a login shell.
        shell = ["/bin/bash", "-l", "-c", "true"]
        assert self._runtime.commands.run(shell, user="user").exit_code == 0

    def write(self):
        self._runtime.files.write(PATH, CONTENT)

    def read(self):
        assert self._runtime.files.read(PATH) == CONTENT

    def remove(self):
        self._runtime.delete()


def since(started):
    return (time.perf_counter() - started) * 1000


def first(client):
    started = time.perf_counter()
    client.create()
    created = since(started)
    client.command()
    return [created, since(started)]


def later(client):
    times = []
    for operation in (client.command, client.write, client.read):
        started = time.perf_counter()
        operation()
        times.append(since(started))
    return times


def remove(client):
    client.remove()
    return []


client = {"e2b": E2bClient, "holt": HoltClient}[sys.argv[1]]()
steps = {"first": first, "later": later, "remove": remove}
print("ready", flush=True)
for line in sys.stdin:
    print(json.dumps(steps[json.loads(line)["step"]](client)), flush=True)
