# The console: the web application that holtd serves at /console.
# setup.sh sets $npm_log, the file for the bundler's output.
# shellcheck shell=bash disable=SC2154

build_console() {
	console_is_fresh && return
	say 'building the console'
	timeout 300 node_modules/.bin/node scripts/build-console.ts >"$npm_log" 2>&1 && return
	tail -n 5 "$npm_log"
	say 'the console cannot be built (see above): /console says so, and all else works'
}

# Succeeds if the console was built after every change of its sources.
console_is_fresh() {
	[ -e dist/console/manifest.json ] || return 1
	[ -z "$(find packages/console packages/{sdk,protocol,tar,glob}/src scripts/build-console.ts scripts/bundle package-lock.json \
		-path packages/console/node_modules -prune -o -type f -cnewer dist/console/begun -print -quit)" ]
}
