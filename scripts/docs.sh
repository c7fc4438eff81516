#!/usr/bin/env bash
# Builds the documentation site into dist/docs, or shows a preview: docs.sh [--dev] [--out DIR]
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=scripts/lib/report.sh
. scripts/lib/report.sh
# shellcheck source=scripts/lib/machine.sh
. scripts/lib/machine.sh
# shellcheck source=scripts/lib/npm.sh
. scripts/lib/npm.sh

npm_log=$(mktemp)
trap 'rm -f "$npm_log"' EXIT
ensure_npm_packages
ensure_site_packages
stop_on_problems
rm -f "$npm_log"
exec node_modules/.bin/node site/main.ts "$@"
