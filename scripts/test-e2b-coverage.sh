#!/usr/bin/env bash
# Checks what docs/e2b-coverage.md says against a real service with TLS: test-e2b-coverage.sh
# [--write] [WORD...]. --write writes the data and the page anew. With words, only the programs of
# scripts/e2b/coverage run whose name contains one.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH
# shellcheck source=scripts/lib/e2b-service.sh
. scripts/lib/e2b-service.sh

exec node scripts/e2b/coverage/run-with-registries.ts node e2e/support/run-with-service.ts \
	node scripts/e2b/coverage/run-programs.ts "$@"
