#!/usr/bin/env bash
# Runs examples/e2b with E2B's published packages against a real service with TLS:
# test-e2b.sh [--all] [--junit-xml FILE] [WORD...]. Without --all it runs the quick ones, each in one of
# its modes. The packages are installed below .holt/published.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH
readonly NAME=holt.localhost TLS=$PWD/.holt/e2b/tls

node packages/server/src/main.ts certificate --domain "$NAME" --out "$TLS" >/dev/null
free_port() { node -e "import('@holt/testkit').then(async ({ freePort }) => console.log(await freePort()))"; }
port=$(free_port)
registry=$(free_port)

export HOLT_E2B=on HOLT_E2B_DOMAIN=$NAME:$port HOLT_E2B_TLS_PORT=$port
export HOLT_E2B_TLS_CERT=$TLS/certificate.pem HOLT_E2B_TLS_KEY=$TLS/key.pem
export HOLT_TEST_E2B_AUTHORITY=$TLS/authority.pem HOLT_TEST_E2B_BUNDLE=$TLS/bundle.pem
# Images of docker.io come from a registry of the tests.
export HOLT_TEST_E2B_REGISTRY_PORT=$registry HOLT_REGISTRY_MIRRORS=docker.io=http://127.0.0.1:$registry
exec node e2e/support/run-with-service.ts node scripts/e2b/run-examples.ts "$@"
