#!/usr/bin/env bash
# Checks what docs/e2b-coverage.md says against a real service with TLS: test-e2b-coverage.sh
# [--write] [WORD...]. --write writes the data and the page anew. With words, only the programs of
# scripts/e2b/coverage run whose name contains one.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH
readonly NAME=holt.localhost TLS=$PWD/.holt/e2b/tls

node packages/server/src/main.ts certificate --domain "$NAME" --out "$TLS" >/dev/null
port=$(node -e "import('@holt/testkit').then(async ({ freePort }) => console.log(await freePort()))")

export HOLT_E2B=on HOLT_E2B_DOMAIN=$NAME:$port HOLT_E2B_TLS_PORT=$port
export HOLT_E2B_TLS_CERT=$TLS/certificate.pem HOLT_E2B_TLS_KEY=$TLS/key.pem
export HOLT_TEST_E2B_AUTHORITY=$TLS/authority.pem HOLT_TEST_E2B_BUNDLE=$TLS/bundle.pem
exec node scripts/e2b/coverage/run-with-registries.ts node e2e/support/run-with-service.ts \
	node scripts/e2b/coverage/run-programs.ts "$@"
