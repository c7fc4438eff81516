"""Counts its visitors in memory, to show that the process a runtime begins with is the one that
was started in the build.
"""

import itertools
import os

from flask import Flask

app = Flask(__name__)
visits = itertools.count(1)


@app.get("/")
def hello() -> str:
    return f"visitor {next(visits)} of process {os.getpid()}\n"


app.run(host="0.0.0.0", port=5000)
