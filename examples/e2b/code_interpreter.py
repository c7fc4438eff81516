"""Code whose variables stay, a picture and an exception, with E2B's code interpreter for Python."""

import base64

from e2b_code_interpreter import Sandbox

# The constructor makes a sandbox in versions before 2.
sandbox = Sandbox.create() if hasattr(Sandbox, "create") else Sandbox()
try:
    sandbox.run_code("x = 1")
    assert sandbox.run_code("x + 1").text == "2"

    error = sandbox.run_code("1 / 0").error
    assert error is not None and error.name == "ZeroDivisionError"

    assert "".join(sandbox.run_code("print('hello')").logs.stdout) == "hello\n"

    plot = sandbox.run_code("import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()")
    assert any(base64.b64decode(result.png or "")[1:4] == b"PNG" for result in plot.results)
finally:
    sandbox.kill()
print("ok")
