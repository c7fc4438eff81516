#!/usr/bin/env bash
# Tests the Python client against a real service: test-python.sh [PYTEST ARGUMENT...]
# The client and the tools of its tests are installed below .holt/python, where git does not look.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH
readonly ENVIRONMENT=$PWD/.holt/python/environment
readonly INSTALL_LIMIT=300

# Makes the environment anew when the requirements have changed. The client itself is installed as a
# link to its source, so a change of the source needs nothing.
prepare() {
	local wanted
	wanted=$(cat python/pyproject.toml python/hatch_build.py python/tests/requirements.txt "$0" | sha256sum)
	[ "$(cat "$ENVIRONMENT/stamp" 2>/dev/null)" = "$wanted" ] && return
	rm -rf "$ENVIRONMENT"
	# The packages of Debian have pip apart from venv.
	python3 -m venv --without-pip "$ENVIRONMENT"
	timeout "$INSTALL_LIMIT" python3 -m pip --python "$ENVIRONMENT/bin/python" install --quiet \
		--disable-pip-version-check --timeout 20 --requirement python/tests/requirements.txt --editable python
	echo "$wanted" >"$ENVIRONMENT/stamp"
}

prepare
export HOLT_TEST_PYTHON=$ENVIRONMENT/bin/python
export PYRIGHT_PYTHON_CACHE_DIR=$PWD/.holt/python/pyright PYRIGHT_PYTHON_IGNORE_WARNINGS=1
export PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=$PWD/.holt/python/hypothesis
exec node e2e/support/run-with-service.ts "$ENVIRONMENT/bin/python" -m pytest --rootdir python -c python/pyproject.toml \
	-o cache_dir="$PWD/.holt/python/pytest" "${@:-python/tests}"
