"""The tools of Haystack for a sandbox, called as an agent calls them, without a model."""

from haystack_integrations.tools.e2b import E2BToolset

toolset = E2BToolset()
toolset.warm_up()
try:
    tools = {tool.name: tool for tool in toolset}
    assert "stdout:\nhi\n" in tools["run_bash_command"].invoke(command="echo hi")
    assert "exit_code: 3" in tools["run_bash_command"].invoke(command="exit 3")

    tools["write_file"].invoke(path="a/b.txt", content="x")
    assert tools["read_file"].invoke(path="a/b.txt") == "x"
    assert tools["list_directory"].invoke(path="a").strip() == "b.txt"
finally:
    toolset.close()
print("ok")
