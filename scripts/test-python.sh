#!/usr/bin/env bash
# Tests the Python client against a real service: test-python.sh [PYTEST ARGUMENT...]
# The client and the tools of its tests are installed below .holt/python, where git does not look.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib/python-environment.sh
. scripts/lib/python-environment.sh
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH
readonly ENVIRONMENT=$PWD/.holt/python/environment

prepare_python "$ENVIRONMENT" 300 python/tests/requirements.txt
export HOLT_TEST_PYTHON=$ENVIRONMENT/bin/python
export PYRIGHT_PYTHON_CACHE_DIR=$PWD/.holt/python/pyright PYRIGHT_PYTHON_IGNORE_WARNINGS=1
export PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=$PWD/.holt/python/hypothesis
exec node e2e/support/run-with-service.ts "$ENVIRONMENT/bin/python" -m pytest --rootdir python -c python/pyproject.toml \
	-o cache_dir="$PWD/.holt/python/pytest" "${@:-python/tests}"
