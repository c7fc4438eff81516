"""The tools of Agno for a sandbox with a code interpreter, without a model."""

import json
from pathlib import Path

from agno.tools.e2b import E2BTools

tools = E2BTools()
try:
    assert "Result 1: 42" in tools.run_python_code("6 * 7")
    assert tools.run_python_code("1 / 0").startswith("Error: ZeroDivisionError")
    assert json.loads(tools.run_command("echo hi")) == ["STDOUT:\nhi\n"]

    Path("up.txt").write_text("x")
    assert tools.upload_file("up.txt") == "/home/user/up.txt"
    assert tools.read_file_content("up.txt") == "x"
    assert tools.write_file_content("/tmp/made.txt", "y") == "/tmp/made.txt"
    assert "made.txt" in tools.list_files("/tmp")
    assert "8000-" in tools.get_public_url(8000)
    assert "120" in tools.set_sandbox_timeout(120)
finally:
    assert json.loads(tools.shutdown_sandbox())["content"] is True
print("ok")
