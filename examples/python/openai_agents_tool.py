"""An agent of the OpenAI Agents SDK whose code runs in a runtime of Holt.

    pip install openai-agents
    OPENAI_API_KEY=... python openai_agents_tool.py MODEL "How many primes are below 10,000?"
"""

import asyncio
import sys

from agents import Agent, Model, RunContextWrapper, Runner, function_tool
from holt import AsyncHolt, AsyncRuntime


@function_tool
async def run_command(context: RunContextWrapper[AsyncRuntime], command: str) -> str:
    """Runs a shell command in a Linux sandbox. Returns its output and its exit code."""
    result = await context.context.commands.run(command, timeout_secs=120, max_output_bytes=20_000)
    end = "timed out" if result.timed_out else f"exit code {result.exit_code}"
    return f"{result.stdout}{result.stderr}({end})"


@function_tool
async def write_file(context: RunContextWrapper[AsyncRuntime], path: str, content: str) -> str:
    """Writes a text file in the sandbox. The path is absolute, below /workspace."""
    return f"{(await context.context.files.write(path, content)).size_bytes} bytes written"


async def ask(model: str | Model, question: str, runtime: AsyncRuntime) -> str:
    """Lets a model answer a question with the tools. An error of a tool is told to the model."""
    agent = Agent[AsyncRuntime](
        name="coder",
        instructions="Answer with code that you run. Use the tools.",
        model=model,
        tools=[run_command, write_file],
    )
    return str((await Runner.run(agent, question, context=runtime)).final_output)


async def main() -> None:
    async with AsyncHolt() as holt, await holt.runtimes.create() as runtime:
        print(await ask(sys.argv[1], sys.argv[2], runtime))


if __name__ == "__main__":
    asyncio.run(main())
