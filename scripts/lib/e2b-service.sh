# The settings of a service with E2B's API in domain mode, with a certificate of its own below .holt.
# Sourced by the scripts that start one, in the project's directory.
# shellcheck shell=bash

# Prints a port of loopback that nobody uses.
free_port() { node -e "import('@holt/testkit').then(async ({ freePort }) => console.log(await freePort()))"; }

readonly E2B_NAME=holt.localhost E2B_TLS=$PWD/.holt/e2b/tls
node packages/server/src/main.ts certificate --domain "$E2B_NAME" --out "$E2B_TLS" >/dev/null
e2b_port=$(free_port)
export HOLT_E2B=on HOLT_E2B_DOMAIN=$E2B_NAME:$e2b_port HOLT_E2B_TLS_PORT=$e2b_port
export HOLT_E2B_TLS_CERT=$E2B_TLS/certificate.pem HOLT_E2B_TLS_KEY=$E2B_TLS/key.pem
export HOLT_TEST_E2B_AUTHORITY=$E2B_TLS/authority.pem HOLT_TEST_E2B_BUNDLE=$E2B_TLS/bundle.pem
