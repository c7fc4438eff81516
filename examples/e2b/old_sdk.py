"""A command and a file with any version of E2B's SDK for Python from 1.11 on."""

from e2b import Sandbox

# The constructor makes a sandbox in versions before 2.
sandbox = Sandbox.create() if hasattr(Sandbox, "create") else Sandbox()
try:
    assert sandbox.commands.run("echo $((6 * 7))").stdout == "42\n"
    sandbox.files.write("a/b.txt", "x")
    assert sandbox.files.read("a/b.txt") == "x"
finally:
    sandbox.kill()
print("ok")
