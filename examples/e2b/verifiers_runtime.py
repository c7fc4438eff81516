"""A sandbox of Verifiers on an image: programs, files and no network, without a model."""

import asyncio

from verifiers.v1.runtimes import E2BConfig, provision_runtime


async def main() -> None:
    config = E2BConfig(image="python:3.12-slim", allow=[])
    async with provision_runtime(config) as runtime:
        result = await runtime.run(["sh", "-c", "echo hi; pwd; id -un; echo no >&2; exit 3"], {})
        assert (result.exit_code, result.stdout, result.stderr) == (3, "hi\n/app\nroot\n", "no\n"), result

        program = await runtime.run_program(["sh", "-c", 'echo "$GIVEN"; exit 4'], {"GIVEN": "here"})
        assert (program.exit_code, program.stdout) == (4, "here\n"), program

        await runtime.write("data/bytes.bin", bytes(range(256)))
        assert await runtime.read("data/bytes.bin") == bytes(range(256))

        process = await runtime.open_process(["cat"], {})
        await process.write(b"\x00\xff\n")
        assert await anext(aiter(process.stdout)) == b"\x00\xff\n"
        await process.terminate()
        assert await process.wait() != 0

        await runtime.prepare_execution([])
        closed = await runtime.run(["curl", "-sS", "--max-time", "20", "https://example.com"], {})
        assert closed.exit_code != 0, closed


asyncio.run(main())
print("ok")
