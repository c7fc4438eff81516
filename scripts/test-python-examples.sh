#!/usr/bin/env bash
# Runs the Python examples against a real service: test-python-examples.sh [PYTEST ARGUMENT...]
# Their libraries take 280 MB, so only the long run of the tests installs them.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib/python-environment.sh
. scripts/lib/python-environment.sh
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH
readonly ENVIRONMENT=$PWD/.holt/python/examples

prepare_python "$ENVIRONMENT" 600 examples/python/requirements.txt pytest
export PYTHONDONTWRITEBYTECODE=1
exec node e2e/support/run-with-service.ts "$ENVIRONMENT/bin/python" -m pytest -q --rootdir examples/python \
	-o cache_dir="$PWD/.holt/python/pytest-examples" "${@:-examples/python}"
