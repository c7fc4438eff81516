#!/usr/bin/env bash
# Tests the bridge of the template code-interpreter against real kernels on this machine:
# test-code-interpreter.sh [PYTEST ARGUMENT...]
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(bash scripts/prepare-code-interpreter.sh)
readonly TEMPLATE=templates/code-interpreter
readonly DENO=${python%/bin/python}/deno

export HOLT_TEST_CODE_PATH=$DENO DENO_DIR=$DENO/cache
export PYTHONDONTWRITEBYTECODE=1 HYPOTHESIS_STORAGE_DIRECTORY=$PWD/.holt/python/hypothesis
exec "$python" -m pytest -q --rootdir "$TEMPLATE" -p no:cacheprovider "${@:-$TEMPLATE/tests}"
