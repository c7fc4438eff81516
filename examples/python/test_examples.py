"""Runs the examples against a real service, with scripted models in place of real ones.

`bash scripts/test-python-examples.sh` installs the libraries and starts the service.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import agents
import langgraph_tools
import openai_agents_tool
import pydantic_ai_tool
import pytest
from agents.items import ModelResponse
from agents.usage import Usage
from holt import AsyncHolt, AsyncRuntime, Holt, Runtime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart
from pydantic_ai.messages import ModelResponse as PydanticResponse
from pydantic_ai.messages import TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

QUESTION = "What is 6 * 7? Use a program."
CALLS: list[tuple[str, dict[str, str]]] = [
    ("write_file", {"path": "/workspace/answer.py", "content": "print(6 * 7)\n"}),
    ("run_command", {"command": "python /workspace/answer.py; exit 3"}),
]
"""The calls that the scripted models make, one after another."""
OUTPUTS = ["13 bytes written", "42\n(exit code 3)"]
"""The outputs that the tools give them."""

agents.set_tracing_disabled(True)


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    """A runtime of the synchronous client."""
    with Holt() as holt, holt.runtimes.create() as made:
        yield made


@pytest.fixture
def anyio_backend() -> str:
    """The backend of the asynchronous tests."""
    return "asyncio"


@pytest.fixture
async def async_runtime(anyio_backend: str) -> AsyncIterator[AsyncRuntime]:
    """A runtime of the asynchronous client."""
    async with AsyncHolt() as holt, await holt.runtimes.create() as made:
        yield made


class ScriptedChatModel(BaseChatModel):
    """A model of LangChain that makes the calls, and then repeats the last output of a tool."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        assert [tool.name for tool in tools] == ["run_command", "write_file", "read_file"]
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        outputs = [message.text for message in messages if isinstance(message, ToolMessage)]
        if len(outputs) == len(CALLS):
            answer = AIMessage(f"It said {outputs[-1]}")
        else:
            name, arguments = CALLS[len(outputs)]
            answer = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{len(outputs)}"}])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def test_an_agent_of_langgraph_uses_a_runtime(runtime: Runtime) -> None:
    messages = langgraph_tools.ask(ScriptedChatModel(), QUESTION, runtime)
    assert [message.text for message in messages if isinstance(message, ToolMessage)] == OUTPUTS
    assert messages[-1].text == "It said 42\n(exit code 3)"


def test_a_tool_of_langchain_tells_the_model_what_was_wrong(runtime: Runtime) -> None:
    run_command, write_file, read_file = langgraph_tools.runtime_tools(runtime)
    assert write_file.invoke({"path": "/workspace/a", "content": "x"}) == "1 bytes written"
    assert read_file.invoke({"path": "/workspace/a"}) == "x"
    assert "path_not_found" in read_file.invoke({"path": "/nowhere"})
    assert "invalid_path" in write_file.invoke({"path": "relative", "content": ""})
    assert run_command.invoke({"command": "echo out; echo err >&2"}) == "out\nerr\n(exit code 0)"


class ScriptedAgentsModel(agents.Model):
    """The same for the OpenAI Agents SDK."""

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:
        outputs = [one["output"] for one in input if isinstance(one, dict) and one.get("type") == "function_call_output"]
        if len(outputs) == len(CALLS):
            assert outputs == OUTPUTS
            text = ResponseOutputText(annotations=[], text=f"It said {outputs[-1]}", type="output_text")
            item: Any = ResponseOutputMessage(
                id="answer", content=[text], role="assistant", status="completed", type="message"
            )
        else:
            name, arguments = CALLS[len(outputs)]
            item = ResponseFunctionToolCall(
                arguments=json.dumps(arguments),
                call_id=f"call-{len(outputs)}",
                name=name,
                type="function_call",
            )
        return ModelResponse(output=[item], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the example does not stream")


@pytest.mark.anyio
async def test_an_agent_of_openai_uses_a_runtime(async_runtime: AsyncRuntime) -> None:
    answer = await openai_agents_tool.ask(ScriptedAgentsModel(), QUESTION, async_runtime)
    assert answer == "It said 42\n(exit code 3)"


@pytest.mark.anyio
async def test_an_agent_of_pydantic_ai_uses_a_runtime(async_runtime: AsyncRuntime) -> None:
    def respond(messages: list[ModelMessage], info: AgentInfo) -> PydanticResponse:
        assert sorted(tool.name for tool in info.function_tools) == ["run_command", "write_file"]
        parts = [part for message in messages for part in message.parts]
        outputs = [part.content for part in parts if isinstance(part, ToolReturnPart)]
        if len(outputs) < len(CALLS):
            return PydanticResponse([ToolCallPart(*CALLS[len(outputs)])])
        assert outputs == OUTPUTS
        return PydanticResponse([TextPart(f"It said {outputs[-1]}")])

    answer = await pydantic_ai_tool.ask(FunctionModel(respond), QUESTION, async_runtime)
    assert answer == "It said 42\n(exit code 3)"
