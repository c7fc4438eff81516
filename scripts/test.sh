#!/usr/bin/env bash
# Every check there is: types, lint, layers, unused code, the guest, then unit, conformance and end-to-end tests.
# Ends with what failed, if anything did, and one line, "N passed, N failed, N skipped".
set -euo pipefail
cd "$(dirname "$0")/.."

HOLT_COMMAND='npm test' bash scripts/lib/setup.sh --tests
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH:/usr/local/go/bin:/usr/local/sbin:/usr/sbin:/sbin

readonly STATIC_TIMEOUT=300 GO_TIMEOUT=900 VITEST_TIMEOUT=2700
results=$PWD/.holt/test
failures=$results/failures.txt
passed=0 failed=0 skipped=0
rm -rf "$results"
mkdir -p "$results"

# Adds "PASSED FAILED SKIPPED" to the sums.
count() {
	local one two three
	read -r one two three <<<"$1"
	passed=$((passed + one)) failed=$((failed + two)) skipped=$((skipped + three))
}

# One static check, which passes or fails as a whole: check NAME COMMAND...
check() {
	local name=$1
	shift
	printf '\n== %s\n' "$name"
	if timeout "$STATIC_TIMEOUT" "$@"; then count '1 0 0'; else
		count '0 1 0'
		echo "$name failed: $*" | tee -a "$failures"
	fi
}

# Counts what a runner wrote to a file: count_report NAME KIND FILE STATUS. A runner that failed without a failed test counts as one failure.
count_report() {
	local name=$1 kind=$2 file=$3 status=$4 report
	report=$(node scripts/lib/count-tests.mjs "$kind" "$file" "$status") || report='0 1 0'
	count "$(head -n 1 <<<"$report")"
	tail -n +2 <<<"$report" >>"$failures"
	[ "$status" -eq 0 ] || echo "$name tests ended with status $status" >>"$failures"
}

check types tsc -p tsconfig.json
check lint biome check --error-on-warnings .
check layers node scripts/check-layers.ts
check security node scripts/check-security.ts
check unused knip
check 'guest vet' go -C guest vet ./...

printf '\n== guest tests\n'
status=0
timeout "$GO_TIMEOUT" go -C guest test -json ./... >"$results/go.json" || status=$?
node scripts/lib/show-go-tests.mjs "$results/go.json"
count_report guest go "$results/go.json" "$status"

# A run of vitest, counted test by test: vitest_run NAME ARGUMENT...
vitest_run() {
	local name=$1 status=0
	shift
	printf '\n== %s tests\n' "$name"
	timeout --kill-after=60 "$VITEST_TIMEOUT" vitest run --reporter=default --reporter=json \
		--outputFile.json="$results/$name.json" "$@" || status=$?
	count_report "$name" vitest "$results/$name.json" "$status"
}

# With PostgreSQL as the store: what counts, keeps an order, answers once or changes state. `npm run test:postgres` runs all of the service's tests there.
readonly ON_POSTGRES=(packages/server/test/{audit,events,idempotency,keys,lifecycle,pools,projects,snapshots,webhooks})

vitest_run unit
HOLT_TEST_DATABASE=postgres vitest_run postgres "${ON_POSTGRES[@]}"
vitest_run end-to-end --config e2e/vitest.config.ts
vitest_run chaos --config chaos/vitest.config.ts

if [ -s "$failures" ]; then
	printf '\n== what failed\n'
	cat "$failures"
fi
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
