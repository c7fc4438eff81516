#!/usr/bin/env bash
# Builds what holt runs and git does not hold: the guest, the bundle of holt and holtd, the console.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=scripts/lib/report.sh
. scripts/lib/report.sh
# shellcheck source=scripts/lib/go.sh
. scripts/lib/go.sh

export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH:/usr/local/go/bin
build_guest
say 'bundling holt and holtd'
node scripts/bundle.ts
say 'building the console'
node scripts/build-console.ts
stop_on_problems
