#!/usr/bin/env bash
# Installs the published clients of E2B that tests use, below .holt/e2b-clients. Prints the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/.holt/e2b-clients
js=2.51.0
python=2.63.0
mark=$folder/installed
wanted="js $js, python $python"
if [ "$(cat "$mark" 2>/dev/null)" != "$wanted" ]; then
	mkdir -p "$folder/js"
	npm install --silent --no-fund --no-audit --no-save --prefix "$folder/js" "e2b@$js" >&2
	[ -x "$folder/py/bin/python" ] || python3 -m venv "$folder/py" >&2
	"$folder/py/bin/pip" install --quiet --disable-pip-version-check "e2b==$python" >&2
	echo "$wanted" >"$mark"
fi
echo "$folder"
