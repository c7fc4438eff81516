#!/usr/bin/env bash
# Tests the Python client against a real service: test-python.sh [PYTEST ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH
HOLT_TEST_PYTHON=$(bash scripts/prepare-python.sh)
export HOLT_TEST_PYTHON
export PYRIGHT_PYTHON_CACHE_DIR=$PWD/.holt/python/pyright PYRIGHT_PYTHON_IGNORE_WARNINGS=1
export PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=$PWD/.holt/python/hypothesis
exec node e2e/support/run-with-service.ts "$HOLT_TEST_PYTHON" -m pytest --rootdir python -c python/pyproject.toml \
	-o cache_dir="$PWD/.holt/python/pytest" "${@:-python/tests}"
