"""Commands and files of a sandbox through LangChain's Deep Agents, without a model."""

from e2b import Sandbox
from langchain_e2b import E2BSandbox

sandbox = Sandbox.create()
try:
    backend = E2BSandbox(sandbox=sandbox)
    assert "hi" in backend.execute("echo hi").output
    backend.upload_files([("/home/user/a.txt", b"x")])
    [downloaded] = backend.download_files(["/home/user/a.txt"])
    assert downloaded.content == b"x"
finally:
    sandbox.kill()
print("ok")
