"""Harbor: tasks in its network modes, and one that changes its network for its agent and its tests.

Sandboxes reach the Internet only as far as the service allows it (HOLT_E2B_EGRESS).
"""

import json
import subprocess
import sys
from pathlib import Path

# The hosts that a task reaches are printed by name, one a line.
PROBE = """
from urllib.request import urlopen

for host, path in {"deb.debian.org": "/debian/dists/stable/Release", "example.com": "/"}.items():
    try:
        urlopen(f"http://{host}{path}", timeout=20).read(1)
        print(host)
    except OSError:
        pass
"""
EVERY_HOST = "deb.debian.org example.com"
DEBIAN = 'network_mode = "allowlist"\nallowed_hosts = ["*.debian.org"]\n'
EXAMPLE = 'network_mode = "allowlist"\nallowed_hosts = ["example.com"]\n'
CLOSED = 'network_mode = "no-network"\n'
PUBLIC = 'network_mode = "public"\n'

# The settings of each task, and the hosts that its agent and its tests reach.
TASKS = {
    "public": (f"[environment]\n{PUBLIC}", EVERY_HOST, EVERY_HOST),
    "no-network": (f"[environment]\n{CLOSED}", "", ""),
    "allowlist": (f"[environment]\n{DEBIAN}", "deb.debian.org", "deb.debian.org"),
    "phases": (
        f"[environment]\n{CLOSED}[agent]\n{PUBLIC}[verifier]\n{EXAMPLE}",
        EVERY_HOST,
        "example.com",
    ),
}

for name, (settings, agent, verifier) in TASKS.items():
    files = {
        "task.toml": f'schema_version = "1.4"\n{settings}',
        "instruction.md": "Write the hosts that you reach to /app/reached.",
        "environment/Dockerfile": "FROM python:3.12-slim\nWORKDIR /app\nCOPY probe.py /app/probe.py\n",
        "environment/probe.py": PROBE,
        "solution/solve.sh": "#!/bin/bash\npython3 /app/probe.py >/app/reached\n",
        "tests/test.sh": "#!/bin/bash\npython3 /app/probe.py >/app/tested\n"
        f'echo "agent: $(echo $(cat /app/reached)), tests: $(echo $(cat /app/tested))"\n'
        f'[ "$(echo $(cat /app/reached))" = "{agent}" ] &&\n'
        f'[ "$(echo $(cat /app/tested))" = "{verifier}" ] && reward=1\n'
        'echo "${reward:-0}" >/logs/verifier/reward.txt\n',
    }
    for path, text in files.items():
        file = Path("networks", name, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

harbor = [sys.executable, "-m", "harbor.cli.main", "run", "--path", "networks", "--agent", "oracle"]
ran = subprocess.run(
    [*harbor, "--env", "e2b", "--jobs-dir", "jobs", "--n-concurrent", "1", "--yes"],
    stdout=subprocess.PIPE,
    text=True,
)
assert ran.returncode == 0, ran.stdout
trials = list(Path("jobs").glob("*/*/result.json"))
assert len(trials) == len(TASKS), trials
for trial in trials:
    result = json.loads(trial.read_text())
    said = "\n".join(output.read_text() for output in trial.parent.glob("verifier/*.txt"))
    assert result["exception_info"] is None, result["exception_info"]
    assert result["verifier_result"]["rewards"] == {"reward": 1.0}, (trial.parent.name, said)
print("ok")
