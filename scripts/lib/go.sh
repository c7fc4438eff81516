# Go for the guest and runsc: the machine's own, or Debian trixie's, kept beside the repository. It
# fetches the version that their go.mod asks for through the module proxy.
# setup.sh names the places: $tools for programs kept beside the repository, $apt_log for what apt says.
# shellcheck shell=bash disable=SC2154

readonly MIN_GO=1.24
# Debian's Go would not fetch another by itself.
export GOTOOLCHAIN=${GOTOOLCHAIN:-auto}

ensure_go() {
	go_is_new && return
	if ! may_install; then
		fix "Go $MIN_GO or newer is missing" 'install Go from go.dev/doc/install'
		return
	fi
	say "fetching Go $MIN_GO for the guest"
	local dir line
	dir=$(mktemp -d)
	if line=$(debian_source trixie) && private_download "$dir" "$line" "golang-$MIN_GO-go" "golang-$MIN_GO-src" >"$apt_log" 2>&1; then
		mkdir -p "$tools/go"
		for package in "$dir"/golang-*.deb; do dpkg -x "$package" "$tools/go"; done
		ln -sfn "../go/usr/lib/go-$MIN_GO/bin/go" "$tools/bin/go"
	else
		apt_install golang-go
	fi
	rm -rf "$dir"
	hash -r
	go_is_new || fix "Go $MIN_GO or newer is missing" 'install Go from go.dev/doc/install'
}

go_is_new() {
	have go || return
	local version
	version=$(cd guest && timeout 120 go version 2>/dev/null | grep -oE 'go[0-9]+\.[0-9]+' | head -n 1) || return
	at_least "${version#go}" "$MIN_GO"
}

guest_is_fresh() {
	[ -x guest/holt-guest ] &&
		[ -z "$(find guest \( -name '*.go' -o -name go.mod -o -name go.sum \) -newer guest/holt-guest -print -quit)" ]
}

build_guest() {
	say 'building the guest'
	(cd guest && CGO_ENABLED=0 timeout 600 go build -trimpath -ldflags='-s -w' -o holt-guest.new . && mv holt-guest.new holt-guest) ||
		fix 'the guest cannot be built (see above: Go is missing, or the Go module mirror is out of reach)' 'bash scripts/lib/setup.sh'
}
