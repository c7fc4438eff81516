"""A WebSocket to a server inside a runtime: blocking, and with asyncio.

    pip install websockets
    python examples/websocket/open.py
"""

import asyncio
from pathlib import Path

from holt import AsyncHolt, Holt
from websockets.asyncio.client import connect as connect_async
from websockets.sync.client import connect


def main() -> None:
    """Opens it with the token in the address, in a header, and then with asyncio."""
    # HOLT_URL and HOLT_API_KEY, else what `holt up` left on this machine.
    with Holt() as holt, holt.runtimes.create() as runtime:
        runtime.files.write("/tmp/echo-server.mjs", Path(__file__).with_name("echo-server.mjs"))
        runtime.commands.start(["node", "/tmp/echo-server.mjs", "8000"])
        port = runtime.ports.get(8000, wait_secs=60)

        with connect(runtime.ports.websocket_url(8000, "/feed")) as socket:
            socket.send("by the address")
            print("came back:", socket.recv())

        address = port.path_url.replace("http", "ws", 1) + "feed"
        with connect(address, additional_headers={"X-Holt-Port-Token": port.token}) as socket:
            socket.send("by the header")
            print("came back:", socket.recv())

        asyncio.run(open_with_asyncio(runtime.runtime_id))


async def open_with_asyncio(runtime_id: str) -> None:
    """Opens it with the asynchronous client."""
    async with AsyncHolt() as holt:
        runtime = await holt.runtimes.get(runtime_id)
        async with connect_async(await runtime.ports.websocket_url(8000, "/feed")) as socket:
            await socket.send("with asyncio")
            print("came back:", await socket.recv())


if __name__ == "__main__":
    main()
