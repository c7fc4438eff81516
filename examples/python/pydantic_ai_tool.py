"""An agent of Pydantic AI whose code runs in a runtime of Holt.

    pip install pydantic-ai
    python pydantic_ai_tool.py openai:MODEL "How many primes are below 10,000?"
"""

import asyncio
import sys

from holt import AsyncHolt, AsyncRuntime, HoltError
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.models import Model

coder = Agent(deps_type=AsyncRuntime, instructions="Answer with code that you run. Use the tools.", retries=3)


@coder.tool
async def run_command(context: RunContext[AsyncRuntime], command: str) -> str:
    """Runs a shell command in a Linux sandbox. Returns its output and its exit code."""
    result = await context.deps.commands.run(command, timeout_secs=120, max_output_bytes=20_000)
    end = "timed out" if result.timed_out else f"exit code {result.exit_code}"
    return f"{result.stdout}{result.stderr}({end})"


@coder.tool
async def write_file(context: RunContext[AsyncRuntime], path: str, content: str) -> str:
    """Writes a text file in the sandbox. The path is absolute, below /workspace."""
    try:
        return f"{(await context.deps.files.write(path, content)).size_bytes} bytes written"
    except HoltError as error:
        raise ModelRetry(str(error)) from error  # The model reads what was wrong, and tries again.


async def ask(model: str | Model, question: str, runtime: AsyncRuntime) -> str:
    """Lets a model answer a question with the tools."""
    return (await coder.run(question, model=model, deps=runtime)).output


async def main() -> None:
    async with AsyncHolt() as holt, await holt.runtimes.create() as runtime:
        print(await ask(sys.argv[1], sys.argv[2], runtime))


if __name__ == "__main__":
    asyncio.run(main())
