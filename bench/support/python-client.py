"""Measures the Python client beside plain requests of http.client, for row B13.

It reads one JSON line for each round, and answers with the milliseconds of each operation:
{"way": "sync" | "async" | "raw", "what": "commands" | "upload", "count": N}. HOLT_URL and
HOLT_API_KEY name the service, and the argument is the id of the runtime.
"""

import asyncio
import http.client
import json
import os
import sys
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

from holt import AsyncHolt, Holt

RUNTIME = sys.argv[1]
SOURCE = Path(sys.argv[2])
DESTINATION = "/bench/from-python"
CHUNK_BYTES = 256 * 1024


def timed(operation):
    started = time.perf_counter()
    operation()
    return (time.perf_counter() - started) * 1000


class Raw:
    """Plain requests over one connection, as a program without the client would send them."""

    def __init__(self):
        url = urlsplit(os.environ["HOLT_URL"])
        self._connection = http.client.HTTPConnection(url.hostname, url.port, timeout=600)
        self._headers = {"authorization": f"Bearer {os.environ['HOLT_API_KEY']}"}

    def command(self):
        body = json.dumps({"argv": ["/bin/true"]})
        # The client asks for a stream, because it needs the id of a command before its end.
        headers = {**self._headers, "content-type": "application/json", "accept": "text/event-stream"}
        answer = self._send("POST", f"/v1/agents/runtime/{RUNTIME}/commands", body, headers)
        items = [json.loads(line[5:]) for line in answer.splitlines() if line.startswith(b"data:")]
        assert [item["exit_code"] for item in items if item["type"] == "exit"] == [0]

    def upload(self):
        path = f"/v1/agents/runtime/{RUNTIME}/files/content?path={quote(DESTINATION)}"
        headers = {**self._headers, "content-length": str(SOURCE.stat().st_size)}
        with SOURCE.open("rb") as file:
            self._send("PUT", path, iter(lambda: file.read(CHUNK_BYTES), b""), headers)

    def _send(self, method, path, body, headers):
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        content = answer.read()
        assert answer.status < 300, content
        return content


def expect_success(result):
    assert result.exit_code == 0, result


async def main():
    raw, holt = Raw(), Holt()
    runtime = holt.runtimes.get(RUNTIME)
    async with AsyncHolt() as async_holt:
        async_runtime = await async_holt.runtimes.get(RUNTIME)

        async def measure(way, what, count):
            if way == "async":
                times = []
                for _ in range(count):
                    started = time.perf_counter()
                    if what == "commands":
                        expect_success(await async_runtime.commands.run(["/bin/true"]))
                    else:
                        await async_runtime.files.write(DESTINATION, SOURCE)
                    times.append((time.perf_counter() - started) * 1000)
                return times
            operations = {
                ("sync", "commands"): lambda: expect_success(runtime.commands.run(["/bin/true"])),
                ("sync", "upload"): lambda: runtime.files.write(DESTINATION, SOURCE),
                ("raw", "commands"): raw.command,
                ("raw", "upload"): raw.upload,
            }
            return [timed(operations[way, what]) for _ in range(count)]

        print("ready", flush=True)
        for line in sys.stdin:
            print(json.dumps(await measure(**json.loads(line))), flush=True)
    holt.close()


asyncio.run(main())
