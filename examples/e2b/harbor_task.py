"""Harbor: one task with the oracle agent, which runs the task's own solution."""

import json
import subprocess
import sys
from pathlib import Path

files = {
    "task.toml": 'schema_version = "1.4"\n[environment]\ncpus = 1\nmemory_mb = 512\n',
    "instruction.md": "Write hello to /app/greeting.",
    "environment/Dockerfile": "FROM python:3.12-slim\nENV GREETING=hello\nWORKDIR /app\n",
    "solution/solve.sh": '#!/bin/bash\necho "$GREETING" >/app/greeting\n',
    "tests/test.sh": "#!/bin/bash\ngrep -qx hello /app/greeting && echo 1 >/logs/verifier/reward.txt\n",
}
for name, text in files.items():
    path = Path("hello", name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

harbor = [sys.executable, "-m", "harbor.cli.main", "run", "--path", "hello", "--agent", "oracle"]
ran = subprocess.run(
    [*harbor, "--env", "e2b", "--jobs-dir", "jobs", "--yes"], stdout=subprocess.PIPE, text=True
)
assert ran.returncode == 0, ran.stdout
(trial,) = Path("jobs").glob("*/*/result.json")
result = json.loads(trial.read_text())
assert result["exception_info"] is None, result["exception_info"]
assert result["verifier_result"]["rewards"] == {"reward": 1.0}, result["verifier_result"]
print("ok")
