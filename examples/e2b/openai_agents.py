"""A command in a sandbox of the OpenAI Agents SDK, without a model."""

import asyncio

from agents.extensions.sandbox.e2b import E2BSandboxClient, E2BSandboxClientOptions


async def main() -> None:
    client = E2BSandboxClient()
    session = await client.create(options=E2BSandboxClientOptions(sandbox_type="e2b", template="base"))
    try:
        async with session:
            result = await session.exec("echo hi")
            assert b"hi" in bytes(result.stdout), result
    finally:
        await client.delete(session)


asyncio.run(main())
print("ok")
