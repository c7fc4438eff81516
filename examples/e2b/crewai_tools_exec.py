"""The tools of CrewAI for a sandbox, called as an agent calls them, without a model."""

import os

from crewai_tools import E2BExecTool, E2BFileTool, E2BPythonTool

domain = os.environ["E2B_DOMAIN"]
result = E2BExecTool(domain=domain)._run(command="echo hi")
assert (result["exit_code"], result["stdout"]) == (0, "hi\n"), result

files = E2BFileTool(domain=domain, persistent=True)
try:
    files._run(action="write", path="/home/user/a/b.txt", content="x")
    assert files._run(action="read", path="/home/user/a/b.txt")["content"] == "x"
    assert [entry["name"] for entry in files._run(action="list", path="/home/user/a")["entries"]] == ["b.txt"]
    assert files._run(action="info", path="/home/user/a/b.txt")["size"] == 1
    files._run(action="delete", path="/home/user/a")
    assert files._run(action="exists", path="/home/user/a")["exists"] is False
finally:
    files.close()

assert E2BPythonTool(domain=domain)._run(code="6 * 7")["text"] == "42"
print("ok")
