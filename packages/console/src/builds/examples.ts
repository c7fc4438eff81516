import type { BuildFields } from './build-form.ts'
import type { TextFile } from './context-file-list.ts'

/** A whole build to begin with. */
export interface BuildExample {
  readonly title: string
  readonly about: string
  readonly fields: Partial<BuildFields>
  readonly files: readonly TextFile[]
}

const flaskDockerfile = `FROM python:3.12-slim
RUN pip install --no-cache-dir flask
WORKDIR /srv
COPY app.py .
`

const flaskProgram = `"""Counts its visitors in memory, to show that the process a runtime begins with is the one that
was started in the build.
"""

import itertools
import os

from flask import Flask

app = Flask(__name__)
visits = itertools.count(1)


@app.get("/")
def hello() -> str:
    return f"visitor {next(visits)} of process {os.getpid()}\\n"


app.run(host="0.0.0.0", port=5000)
`

/** The builds that a person can begin with. The first is the one of `examples/flask`. */
export const examples: readonly BuildExample[] = [
  {
    title: 'A Flask application',
    about: 'A web server of Python that already runs when a runtime begins. It needs the Internet.',
    fields: { dockerfile: flaskDockerfile, name: 'web', start_cmd: 'python app.py' },
    files: [{ path: 'app.py', content: flaskProgram }],
  },
  {
    title: 'Packages for the base template',
    about: 'The default template with one more Python package, from PyPI. It needs no container registry.',
    fields: { dockerfile: 'FROM holt/base-small\nRUN uv pip install ruff\n', name: 'tools' },
    files: [],
  },
]
