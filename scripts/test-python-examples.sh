#!/usr/bin/env bash
# Runs the Python examples against a real service: test-python-examples.sh [PYTEST ARGUMENT...]
# Their libraries take 280 MB, so only the long run of the tests installs them.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH
readonly ENVIRONMENT=$PWD/.holt/python/examples
readonly INSTALL_LIMIT=600

# Makes the environment anew when the requirements have changed.
prepare() {
	local wanted
	wanted=$(cat python/pyproject.toml python/hatch_build.py examples/python/requirements.txt "$0" | sha256sum)
	[ "$(cat "$ENVIRONMENT/stamp" 2>/dev/null)" = "$wanted" ] && return
	rm -rf "$ENVIRONMENT"
	# The packages of Debian have pip apart from venv.
	python3 -m venv --without-pip "$ENVIRONMENT"
	timeout "$INSTALL_LIMIT" python3 -m pip --python "$ENVIRONMENT/bin/python" install --quiet \
		--disable-pip-version-check --timeout 20 --requirement examples/python/requirements.txt pytest --editable python
	echo "$wanted" >"$ENVIRONMENT/stamp"
}

prepare
python3 python/hatch_build.py 2>/dev/null
# The kernel of the notebook, and its files, belong to this environment.
export JUPYTER_PATH=$ENVIRONMENT/share/jupyter JUPYTER_RUNTIME_DIR=$PWD/.holt/python/jupyter IPYTHONDIR=$PWD/.holt/python/ipython
export PYTHONDONTWRITEBYTECODE=1
exec node e2e/support/run-with-service.ts "$ENVIRONMENT/bin/python" -m pytest -q --rootdir examples/python \
	-o cache_dir="$PWD/.holt/python/pytest-examples" "${@:-examples/python}"
