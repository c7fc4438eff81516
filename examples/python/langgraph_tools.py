"""An agent of LangGraph whose code runs in a runtime of Holt.

    pip install langgraph langchain langchain-openai
    python langgraph_tools.py openai:MODEL "How many primes are below 10,000?"
"""

import sys

from holt import Holt, HoltError, Runtime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


def runtime_tools(runtime: Runtime) -> list[BaseTool]:
    """Returns tools that work inside a runtime, for any agent of LangChain."""

    @tool
    def run_command(command: str) -> str:
        """Runs a shell command in a Linux sandbox. Returns its output and its exit code."""
        result = runtime.commands.run(command, timeout_secs=120, max_output_bytes=20_000)
        end = "timed out" if result.timed_out else f"exit code {result.exit_code}"
        return f"{result.stdout}{result.stderr}({end})"

    @tool
    def write_file(path: str, content: str) -> str:
        """Writes a text file in the sandbox. The path is absolute, below /workspace."""
        try:
            return f"{runtime.files.write(path, content).size_bytes} bytes written"
        except HoltError as error:
            return str(error)  # The model reads what was wrong, and tries again.

    @tool
    def read_file(path: str) -> str:
        """Reads a text file of the sandbox. The path is absolute."""
        try:
            return runtime.files.read_text(path, errors="replace")
        except HoltError as error:
            return str(error)

    return [run_command, write_file, read_file]


def ask(model: BaseChatModel, question: str, runtime: Runtime) -> list[BaseMessage]:
    """Lets a model answer a question with the tools. Returns all messages."""
    tools = runtime_tools(runtime)
    thinking = model.bind_tools(tools)

    def think(state: MessagesState) -> dict[str, list[BaseMessage]]:
        return {"messages": [thinking.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    answer = graph.compile().invoke({"messages": [("user", question)]}, {"recursion_limit": 50})
    return answer["messages"]


if __name__ == "__main__":
    from langchain.chat_models import init_chat_model

    with Holt() as holt, holt.runtimes.create() as runtime:
        print(ask(init_chat_model(sys.argv[1]), sys.argv[2], runtime)[-1].content)
