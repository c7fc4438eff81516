# gVisor's runsc, built from the version that runsc/go.mod pins.
# shellcheck shell=bash

# Prints the version in runsc's own form, DATE.COMMIT.
runsc_version() {
	sed -n 's|^require gvisor.dev/gvisor v0\.0\.0-\(20[0-9]\{6\}\)[0-9]*-\([0-9a-f]*\)$|\1.\2|p' runsc/go.mod
}

ensure_runsc() {
	runsc_is_fresh && return
	if [ "${HOLT_CHECK_ONLY:-0}" = 1 ]; then
		fix 'runsc (gVisor) is not built' "${HOLT_COMMAND:-bash scripts/lib/setup.sh}"
		return
	fi
	say 'building runsc (gVisor), once: one to three minutes'
	build_runsc "$(go env GOARCH)" runsc/runsc ||
		fix 'runsc cannot be built (see above: Go is missing, or the Go module mirror is out of reach)' 'bash scripts/lib/setup.sh'
}

runsc_is_fresh() {
	[ -x runsc/runsc ] && [ -z "$(find runsc \( -name '*.go' -o -name go.mod -o -name go.sum -o -name '*.patch' \) -newer runsc/runsc -print -quit)" ]
}

# Builds it for a processor: build_runsc GOARCH FILE
build_runsc() {
	local work target status=0
	work=$(mktemp -d)
	target=$(realpath -m "$2")
	(
		cp -r runsc/go.mod runsc/go.sum runsc/main.go runsc/filters "$work/"
		cd "$work" && timeout 600 go mod vendor && change_sources && precompile_filters "$1" &&
			CGO_ENABLED=0 GOARCH=$1 timeout 1200 go build -mod=vendor -trimpath -buildvcs=false \
				-ldflags="-s -w -X gvisor.dev/gvisor/runsc/version.version=$(cd "$OLDPWD" && runsc_version)" -o "$target.new" .
	) && mv "$target.new" "$target" || status=$?
	rm -rf "$work"
	return "$status"
}

# Applies runsc/patches to the sources in ./vendor. Each patch says why it is needed. A patch that
# does not fit the pinned version ends the build. Within another repository git would skip the files,
# so it looks for none above.
change_sources() {
	local file
	for file in "$OLDPWD"/runsc/patches/*.patch; do
		GIT_CEILING_DIRECTORIES=${PWD%/*} git apply "$file" && continue
		say "this gVisor has other lines than those to change: $file" >&2
		return 1
	done
}

# Compiles the system call filters of sandboxes into the program, and tests that they are those of a
# start: each start compiles them otherwise. They are made on the processor that they are for, so a
# build for another one has none.
precompile_filters() {
	[ "$1" = "$(go env GOHOSTARCH)" ] || return 0
	local file=vendor/gvisor.dev/gvisor/runsc/boot/filter/filter_precompiled.go flags=(-mod=vendor -trimpath -buildvcs=false)
	CGO_ENABLED=0 timeout 1200 go test "${flags[@]}" ./filters >&2 &&
		CGO_ENABLED=0 timeout 1200 go run "${flags[@]}" ./filters "$file"
}
