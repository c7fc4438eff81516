#!/usr/bin/env bash
# From a fresh clone to the main job done: sets the machine up, then runs examples/quickstart.
set -euo pipefail
cd "$(dirname "$0")/.."

HOLT_COMMAND='npm run quickstart' bash scripts/lib/setup.sh
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH:/usr/local/go/bin:/usr/local/sbin:/usr/sbin:/sbin
exec node_modules/.bin/node examples/quickstart/main.ts "$@"
