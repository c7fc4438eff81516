"""Inspect: a task whose model, a mock, runs a command in a sandbox."""

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import bash

outputs = [
    ModelOutput.for_tool_call("mockllm/model", "bash", {"command": "cat greeting"}),
    ModelOutput.from_content("mockllm/model", "It says hello."),
]
for output in outputs:
    # Without a usage the mock counts tokens with a vocabulary, which it downloads.
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
task = Task(
    dataset=[Sample("What does the file say?", target="hello", files={"greeting": "hello"})],
    solver=[use_tools(bash()), generate()],
    scorer=includes(),
    sandbox="e2b",
)
(log,) = eval(task, model=get_model("mockllm/model", custom_outputs=outputs), display="plain")
assert log.status == "success", log.error
(sample,) = log.samples
(answer,) = [message.text for message in sample.messages if message.role == "tool"]
assert answer.strip() == "hello", answer
assert log.results.scores[0].metrics["accuracy"].value == 1
print("ok")
