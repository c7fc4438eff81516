#!/usr/bin/env bash
# The long version of the chaos tests: chaos.sh [FILE...]. It takes hours; what came of it is in .holt/chaos/results.jsonl. Without a file all of the service's tests run on PostgreSQL as well, first.
set -euo pipefail
cd "$(dirname "$0")/.."

HOLT_COMMAND='npm run test:chaos' bash scripts/lib/setup.sh --tests
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH:/usr/local/go/bin:/usr/local/sbin:/usr/sbin:/sbin
status=0
[ $# -gt 0 ] || npm run test:postgres || status=$?
HOLT_TEST_LENGTH=soak vitest run --config chaos/vitest.config.ts "$@" || status=$?
exit "$status"
