# The bundle of holt and holtd. They start several times as fast from it as from their sources.
# setup.sh sets $npm_log, the file for the bundler's output.
# shellcheck shell=bash disable=SC2154

# shellcheck source=scripts/lib/run-program.sh
. scripts/lib/run-program.sh

build_bundle() {
	bundle_is_fresh "$PWD" && return
	say 'bundling holt and holtd'
	timeout 300 node_modules/.bin/node scripts/bundle.ts >"$npm_log" 2>&1 && return
	tail -n 5 "$npm_log"
	say 'holt and holtd cannot be bundled (see above): they run from their sources, and take longer to start'
}
