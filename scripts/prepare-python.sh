#!/usr/bin/env bash
# Prepares the Python with the client and the tools of its tests, and prints its path. It is below
# .holt/python, where git does not look. The tests and the benchmark use it.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib/python-environment.sh
. scripts/lib/python-environment.sh
readonly ENVIRONMENT=$PWD/.holt/python/environment

prepare_python "$ENVIRONMENT" 300 python/tests/requirements.txt
echo "$ENVIRONMENT/bin/python"
