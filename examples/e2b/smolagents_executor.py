"""Code of an agent in a sandbox of smolagents, without a model."""

from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.remote_executors import E2BExecutor
from smolagents.utils import AgentError

executor = E2BExecutor([], AgentLogger(level=LogLevel.OFF))
try:
    assert executor.run_code_raise_errors("1+1").output == "2"

    executor.send_variables({"given": [1, 2, 3]})
    output = executor.run_code_raise_errors("print('seen'); sum(given)")
    assert output.output == "6" and "seen" in output.logs, output

    image = executor.run_code_raise_errors("from PIL import Image; Image.new('RGB', (2, 3))").output
    assert image.size == (2, 3), image
    try:
        executor.run_code_raise_errors("1/0")
        raise AssertionError("an exception in the code raised nothing")
    except AgentError as error:
        assert "ZeroDivisionError" in str(error)
finally:
    executor.cleanup()
print("ok")
