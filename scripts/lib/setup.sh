#!/usr/bin/env bash
# Checks this machine for Holt and installs what it may: setup.sh [--check] [--tests]
#   --check  only reports, installs and builds nothing
#   --tests  also what the tests need
# Each missing thing is one line that begins with "FIX:" and names the command.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=scripts/lib/report.sh
. scripts/lib/report.sh
# shellcheck source=scripts/lib/machine.sh
. scripts/lib/machine.sh
# shellcheck source=scripts/lib/private-apt.sh
. scripts/lib/private-apt.sh
# shellcheck source=scripts/lib/packages.sh
. scripts/lib/packages.sh
# shellcheck source=scripts/lib/runsc.sh
. scripts/lib/runsc.sh
# shellcheck source=scripts/lib/go.sh
. scripts/lib/go.sh
# shellcheck source=scripts/lib/versitygw.sh
. scripts/lib/versitygw.sh
# shellcheck source=scripts/lib/npm.sh
. scripts/lib/npm.sh
# shellcheck source=scripts/lib/bundle.sh
. scripts/lib/bundle.sh
# shellcheck source=scripts/lib/console.sh
. scripts/lib/console.sh

tools=$PWD/.holt/tools
HOLT_COMMAND=${HOLT_COMMAND:-bash scripts/lib/setup.sh}
HOLT_CHECK_ONLY=0
with_tests=0
for argument in "$@"; do
	case $argument in
	--check) HOLT_CHECK_ONLY=1 ;;
	--tests) with_tests=1 ;;
	*)
		say "usage: setup.sh [--check] [--tests]"
		exit 2
		;;
	esac
done

export PATH=$tools/bin:$PATH:/usr/local/go/bin:/usr/local/sbin:/usr/sbin:/sbin
check_machine
# A missing tool that cannot be installed ends the run here, before anything is installed.
[ "$HOLT_CHECK_ONLY" = 1 ] || stop_on_problems

[ "$HOLT_CHECK_ONLY" = 1 ] || mkdir -p "$tools/bin"
apt_log=$(mktemp)
npm_log=$(mktemp)
go_job=
trap 'rm -f "$apt_log" "$npm_log"; [ -z "$go_job" ] || kill "$go_job" 2>/dev/null || true' EXIT
if [ "$with_tests" = 1 ]; then
	ensure_packages "${RUN_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
	ensure_test_services
	ensure_test_postgres
else
	ensure_packages "${RUN_PACKAGES[@]}"
fi

# Go, and the programs that it builds.
prepare_go() {
	ensure_go
	[ "$problems" -eq 0 ] || return 0
	ensure_runsc
	[ "$with_tests" = 0 ] || [ "${HOLT_TEST_LENGTH:-short}" = short ] || ensure_test_s3
	[ "$HOLT_CHECK_ONLY" = 1 ] || guest_is_fresh || build_guest
}

# npm waits for the network while Go builds.
(
	known=$problems
	prepare_go
	exit $((problems - known))
) &
go_job=$!
ensure_npm_packages
[ "$with_tests" = 0 ] || ensure_site_packages
if [ "$HOLT_CHECK_ONLY" = 0 ] && [ "$problems" -eq 0 ]; then
	build_bundle
	build_console
fi
wait "$go_job" || problems=$((problems + $?))
go_job=
stop_on_problems
say 'This machine is ready for Holt.'
