# versitygw, a real S3 over a directory, for long tests. It is built from the version that
# packages/testkit/versitygw/go.mod pins, through the Go module proxy.
# setup.sh names the places: $tools for programs kept beside the repository.
# shellcheck shell=bash disable=SC2154

# Builds it once: three to ten minutes. Tests that need it are skipped without it.
ensure_test_s3() {
	local module=packages/testkit/versitygw
	[ -x "$tools/bin/versitygw" ] && [ ! $module/go.mod -nt "$tools/bin/versitygw" ] && return
	if [ "${HOLT_CHECK_ONLY:-0}" = 1 ]; then
		fix 'versitygw is not built, for the long tests' 'npm run test:long'
		return
	fi
	say 'building versitygw (S3) for the long tests, once: three to ten minutes'
	mkdir -p "$tools/bin"
	(cd $module && CGO_ENABLED=0 timeout 1800 go build -trimpath -buildvcs=false -ldflags='-s -w' \
		-o "$tools/bin/versitygw.new" github.com/versity/versitygw/cmd/versitygw) &&
		mv "$tools/bin/versitygw.new" "$tools/bin/versitygw" ||
		fix 'versitygw cannot be built (see above: Go is missing, or the Go module mirror is out of reach)' 'bash scripts/lib/setup.sh'
}
