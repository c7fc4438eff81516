#!/usr/bin/env bash
# Runs every check: types, lint, layers, unused code, the guest, then unit, conformance and
# end-to-end tests. Ends with the failures, if any, and one line, "N passed, N failed, N skipped".
# HOLT_TEST_LENGTH and HOLT_TEST_SEED choose the cases: docs/internals/testing.md.
set -euo pipefail
cd "$(dirname "$0")/.."

results=$PWD/.holt/test
rm -rf "$results"
mkdir -p "$results"
# shellcheck source=scripts/lib/step-accounts.sh
. scripts/lib/step-accounts.sh
open_accounts

# Ends what runs in the background. `timeout` passes the signal on to its command.
end_jobs() {
	local pids
	pids=$(jobs -p)
	# shellcheck disable=SC2086
	[ -z "$pids" ] || kill $pids 2>/dev/null || true
}
trap 'end_jobs; close_accounts' EXIT

HOLT_COMMAND='npm test' timed set-up bash scripts/lib/setup.sh --tests
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH:/usr/local/go/bin:/usr/local/sbin:/usr/sbin:/sbin
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}
export HOLT_TEST_LENGTH=${HOLT_TEST_LENGTH:-short} HOLT_TEST_SEED=${HOLT_TEST_SEED:-$SRANDOM}
printf 'To repeat this run: HOLT_TEST_LENGTH=%s HOLT_TEST_SEED=%s\n' "$HOLT_TEST_LENGTH" "$HOLT_TEST_SEED"

# Time limits of a step and of the whole run, in seconds. CI kills a run of `npm test` after 90
# minutes, without its summary.
readonly STATIC_LIMIT=300 GO_LIMIT=900 VITEST_LIMIT=2700 PYTHON_LIMIT=900
case $HOLT_TEST_LENGTH in
short) readonly RUN_LIMIT=5100 STRETCH=1 ;;
*) readonly RUN_LIMIT=172800 STRETCH=20 ;;
esac
failures=$results/failures.txt
counts=$results/counts.txt

# Prints the time limit of a step: its own limit, but no more than is left of the run.
limit() {
	local own=$(($1 * STRETCH)) left=$((RUN_LIMIT - SECONDS))
	[ "$left" -gt 0 ] || left=1
	echo $((own < left ? own : left))
}

# One static check, which passes or fails as a whole: check NAME COMMAND...
check() {
	local name=$1
	shift
	printf '\n== %s\n' "$name"
	if timed "$name" timeout "$(limit "$STATIC_LIMIT")" "$@"; then echo '1 0 0' >>"$counts"; else
		echo '0 1 0' >>"$counts"
		echo "$name failed: $*" | tee -a "$failures"
	fi
}

# Runs a command, prints its output, and keeps it in NAME.txt: kept NAME COMMAND...
# Without a pipe: a process that a killed runner leaves behind would keep it open.
kept() {
	local file=$results/$1.txt pid status=0
	shift
	"$@" >"$file" 2>&1 &
	pid=$!
	tail --pid="$pid" --sleep-interval=0.2 --lines=+1 --follow "$file"
	wait "$pid" || status=$?
	return "$status"
}

# Counts what a runner wrote to a file: count_report NAME KIND FILE STATUS. A runner that failed without a failed test
# counts as one failure, and its output gives the reason.
count_report() {
	local name=$1 kind=$2 file=$3 status=$4 report
	report=$(node scripts/lib/count-tests.mjs "$kind" "$file" "$status" "$results/$name.txt") || report='0 1 0'
	head -n 1 <<<"$report" >>"$counts"
	tail -n +2 <<<"$report" >>"$failures"
	[ "$status" -eq 0 ] || echo "$name tests ended with status $status" >>"$failures"
}

static_checks() {
	check types tsc -p tsconfig.json
	check 'console types' tsc -p packages/console/tsconfig.json
	check lint biome check --error-on-warnings .
	check layers node scripts/check-layers.ts
	check security node scripts/check-security.ts
	check words node scripts/check-words.ts
	check links node scripts/check-links.ts
	check 'docs site' bash scripts/docs.sh
	check unused knip
	check 'guest vet' go -C guest vet ./...
}

guest_tests() {
	local status=0 options=(-count=1 -json)
	[ "$HOLT_TEST_LENGTH" != short ] || options+=(-short)
	HOLT_RUNSC=${HOLT_RUNSC:-$PWD/runsc/runsc} timeout "$(limit "$GO_LIMIT")" go -C guest test "${options[@]}" ./... >"$results/go.json" || status=$?
	printf '\n== guest tests\n'
	node scripts/lib/show-go-tests.mjs "$results/go.json"
	count_report guest go "$results/go.json" "$status"
}

# A run of vitest, counted test by test: vitest_run NAME ARGUMENT...
vitest_run() {
	local name=$1 status=0
	shift
	printf '\n== %s tests\n' "$name"
	timed "$name tests" kept "$name" timeout --kill-after=60 "$(limit "$VITEST_LIMIT")" vitest run --reporter=default --reporter=json \
		--outputFile.json="$results/$name.json" "$@" || status=$?
	count_report "$name" vitest "$results/$name.json" "$status"
}

# The tests of the Python client, against a service of their own. The tests of the synchronous client are made of those
# of the asynchronous one, as it is itself: a short run has one of the two. It has two of the slow files about one thing.
readonly SLOW_IN_PYTHON=(python/tests/test_{cancellation,docs,git,notebook,package}.py)
python_tests() {
	local status=0 files
	mapfile -t files < <(
		printf '%s\n' python/tests/test_*.py "${SLOW_IN_PYTHON[@]}" | sort | uniq -u
		node scripts/draw-share.ts 0.4 'slow Python files' "${SLOW_IN_PYTHON[@]}"
		node scripts/draw-share.ts 0.5 'Python clients' python/tests/{service,_sync}
	)
	printf '\n== python tests\n'
	timed 'python tests' kept python timeout --kill-after=60 "$(limit "$PYTHON_LIMIT")" bash scripts/test-python.sh \
		--junit-xml="$results/python.xml" "${files[@]}" || status=$?
	count_report python junit "$results/python.xml" "$status"
}

# The bridge of the template code-interpreter, against kernels on this machine. A short run draws a third of the files.
code_tests() {
	local status=0 files
	mapfile -t files < <(node scripts/draw-share.ts 0.333 'files of the bridge' templates/code-interpreter/tests/test_*.py)
	printf '\n== code-interpreter tests\n'
	timed 'code-interpreter tests' kept code-interpreter timeout --kill-after=60 "$(limit "$PYTHON_LIMIT")" bash scripts/test-code-interpreter.sh \
		--junit-xml="$results/code-interpreter.xml" "${files[@]}" || status=$?
	count_report code-interpreter junit "$results/code-interpreter.xml" "$status"
}

# The Python examples, against a service of their own. Their libraries take 280 MB and a minute to
# install, so only long runs have them.
python_examples() {
	local status=0
	if [ "$HOLT_TEST_LENGTH" = short ]; then
		printf '\n== python examples: only in npm run test:long\n'
		return
	fi
	printf '\n== python examples\n'
	timed 'python examples' kept python-examples timeout --kill-after=60 "$(limit "$PYTHON_LIMIT")" bash scripts/test-python-examples.sh \
		--junit-xml="$results/python-examples.xml" examples/python || status=$?
	count_report python-examples junit "$results/python-examples.xml" "$status"
}

# The published packages of E2B's clients: the quick examples, and in long runs all of them with the
# matrix of old versions.
e2b_examples() {
	local status=0 all=()
	[ "$HOLT_TEST_LENGTH" = short ] || all=(--all)
	printf '\n== e2b examples\n'
	timed 'e2b examples' kept e2b timeout --kill-after=60 "$(limit "$PYTHON_LIMIT")" bash scripts/test-e2b.sh \
		--junit-xml "$results/e2b.xml" "${all[@]}" || status=$?
	count_report e2b junit "$results/e2b.xml" "$status"
}

# With PostgreSQL as the store: what counts, keeps an order, answers once or changes state. `npm run test:postgres` runs all of the service's tests there.
readonly ON_POSTGRES=(packages/server/test/{runtimes/{lifecycle,pools,snapshots},tenancy/{audit,events,idempotency,keys,projects,webhooks}})
# A short run draws two of these nine folders, and always tests what answers once and what counts.
readonly ALWAYS_ON_POSTGRES=(packages/server/test/tenancy/idempotency/every-post.test.ts packages/server/test/tenancy/projects/quotas.test.ts)
mapfile -t on_postgres < <(node scripts/draw-share.ts 0.222 'folders on PostgreSQL' "${ON_POSTGRES[@]}")

# Through a fleet of three hosts, each request through a random one (HOLT_TEST_FLEET). A short run draws two files, and
# a long one runs all that are about a service.
mapfile -t THROUGH_FLEET < <(find packages/server/test/{api,builds,e2b,inside,resources,runtimes,tenancy} -name '*.test.ts' | sort)
mapfile -t through_fleet < <(node scripts/draw-share.ts 0.011 'files through a fleet' "${THROUGH_FLEET[@]}")

# With the compiled code of the npm packages, a process that tests the service starts 0.4 s sooner.
readonly COMPILED=$PWD/.holt/compile-cache

# Beside the unit tests and the end-to-end tests, one after another: both leave processor time while they wait. The
# end-to-end tests need the site that the static checks build, the base template that the first start for the Python
# tests builds, and the lane that the tests of the clients use.
readonly LANE_IS_FREE=$results/lane-is-free
{
	trap end_jobs EXIT
	static_checks
	lanes=1 python_tests
	lanes=1 e2b_examples
	touch "$LANE_IS_FREE"
	timed 'guest tests' guest_tests
	code_tests
	NODE_COMPILE_CACHE=$COMPILED HOLT_TEST_DATABASE=postgres vitest_run postgres --maxWorkers=1 \
		"${on_postgres[@]}" "${ALWAYS_ON_POSTGRES[@]}"
	NODE_COMPILE_CACHE=$COMPILED HOLT_TEST_FLEET=3 vitest_run fleet --maxWorkers=1 "${through_fleet[@]}"
} >"$results/beside.txt" 2>&1 &
beside=$!
NODE_COMPILE_CACHE=$COMPILED vitest_run unit --config vitest.npm-test.config.ts
until [ -e "$LANE_IS_FREE" ] || ! kill -0 "$beside" 2>/dev/null; do sleep 0.2; done
# With the chaos tests that measure nothing.
lanes='1 2' HOLT_E2E_LANES=2 vitest_run end-to-end --config e2e/vitest.npm-test.config.ts
wait "$beside" || {
	echo '0 1 0' >>"$counts"
	echo 'a step beside the unit tests ended early' | tee -a "$failures"
}
cat "$results/beside.txt"

lanes=1 python_examples
# Alone: these tests measure how long others wait during an attack.
lanes=1 vitest_run chaos --config chaos/vitest.config.ts --project attacks
# Where scripts/kube-lab is built: the chart, and a fleet in a cluster of two Nodes.
[ "$HOLT_TEST_LENGTH" = short ] || vitest_run kubernetes --config e2e/kubernetes/vitest.config.ts
[ "$HOLT_TEST_LENGTH" = short ] || check "coverage of E2B's SDKs" bash scripts/test-e2b-coverage.sh
[ "$HOLT_TEST_LENGTH" = short ] || check 'deliberate faults' node scripts/test-faults.ts

# An unreadable report must not prevent the result from being printed.
node scripts/lib/show-slowest.mjs "$results"/*.json || true
show_steps
if [ -s "$failures" ]; then
	printf '\n== what failed\n'
	cat "$failures"
	printf 'To repeat this run: HOLT_TEST_LENGTH=%s HOLT_TEST_SEED=%s\n' "$HOLT_TEST_LENGTH" "$HOLT_TEST_SEED"
fi
read -r passed failed skipped < <(awk '{ p += $1; f += $2; s += $3 } END { print p, f, s }' "$counts")
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
