"""Builds a template with the published client for Python.

It is given the kind of the template, its name, an image and a directory with files. Prints the
result as JSON.
"""

import json
import sys

from e2b import Template, wait_for_port

kind, name, image, directory = sys.argv[1:]

templates = {
    "image": lambda: (
        Template(file_context_path=directory)
        .from_image(image)
        .copy("app", "/app")
        .copy("app/sub/*", "py/", user="root", mode=0o600)
        .set_envs({"GREETING": "hello", "PATH": "/extra:$PATH"})
        .run_cmd('echo "$GREETING $FROM_IMAGE $PATH $(id -un) $PWD" >said')
        .run_cmd("id -un >/root/who", user="root")
        .set_workdir("/srv/work")
        .run_cmd("touch mine")
    ),
    "served": lambda: (
        Template()
        .from_base_image()
        .run_cmd("mkdir -p site && echo served >site/index.html")
        .set_workdir("/home/user/site")
        .set_start_cmd("python3 -m http.server 8000", wait_for_port(8000))
    ),
    "fails": lambda: Template().from_template("base").run_cmd("true").run_cmd("echo no >&2; exit 7"),
}

logs: list[str] = []
try:
    info = Template.build(
        templates[kind](),
        name,
        cpu_count=1,
        memory_mb=512,
        on_build_logs=lambda entry: logs.append(entry.message),
    )
    print(json.dumps({"buildId": info.build_id, "exists": Template.exists(name), "logs": logs, "error": None}))
except Exception as error:
    print(json.dumps({"buildId": None, "exists": None, "logs": logs, "error": str(error)}))
