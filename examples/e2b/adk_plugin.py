"""The tools of E2B's plugin for Google's Agent Development Kit, without a model."""

import asyncio
from typing import Any

from e2b_adk import E2BPlugin


async def main() -> None:
    plugin = E2BPlugin()
    tools = {tool.name: tool for tool in plugin.get_tools()}

    async def call(name: str, **args: Any) -> dict[str, Any]:
        result = await tools[name].run_async(args=args, tool_context=None)
        assert result["success"], result
        return result

    try:
        assert (await call("run_code", code="6 * 7"))["text"] == "42"
        assert "ZeroDivisionError" in (await call("run_code", code="1 / 0"))["error"]
        assert (await call("run_command", command="echo hi"))["stdout"] == "hi\n"
        await call("write_file", path="/home/user/a.txt", content="x")
        assert (await call("read_file", path="/home/user/a.txt"))["content"] == "x"
        assert any(entry["name"] == "a.txt" for entry in (await call("list_files", path="/home/user"))["entries"])
        server = await call("start_background_command", command="python3 -m http.server 8000", port=8000)
        assert server["pid"] > 0 and "8000-" in server["preview_url"], server
    finally:
        await plugin.close()


asyncio.run(main())
print("ok")
