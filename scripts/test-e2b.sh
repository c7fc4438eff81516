#!/usr/bin/env bash
# Runs examples/e2b with E2B's published packages against a real service with TLS:
# test-e2b.sh [--all | --newest] [--junit-xml FILE] [WORD...]. Without --all it runs the quick ones, each
# in one of its modes. --newest runs those of E2B's own packages with the newest versions of the day,
# which no other test waits for. The packages are installed below .holt/published.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH
# shellcheck source=scripts/lib/e2b-service.sh
. scripts/lib/e2b-service.sh
registry=$(free_port)

# Images of docker.io come from a registry of the tests.
export HOLT_TEST_E2B_REGISTRY_PORT=$registry HOLT_REGISTRY_MIRRORS=docker.io=http://127.0.0.1:$registry
exec node e2e/support/run-with-service.ts node scripts/e2b/run-examples.ts "$@"
