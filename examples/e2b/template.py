"""A template with a server that runs already when a sandbox starts, with E2B's SDK for Python.

Needs domain mode for its address.
"""

from pathlib import Path
from urllib.request import urlopen

from e2b import Sandbox, Template, wait_for_port

Path("app").mkdir(exist_ok=True)
Path("app/index.html").write_text("from the template")
template = (
    Template()
    .from_image("python:3.12-slim")
    .copy("app", "/app")
    .run_cmd("pip --version")
    .set_start_cmd("python3 -m http.server 8000 --directory /app", wait_for_port(8000))
)
logs: list[str] = []
Template.build(template, "e2b-example-python:v1", on_build_logs=lambda entry: logs.append(entry.message))
assert any("pip" in message for message in logs), logs

sandbox = Sandbox.create("e2b-example-python:v1")
try:
    with urlopen(f"https://{sandbox.get_host(8000)}/index.html", timeout=60) as answer:
        assert answer.read() == b"from the template"
finally:
    sandbox.kill()
print("ok")
