# Packages of another Debian suite, by an apt whose sources, lists and cache are its own: the host's stay as they are.
# shellcheck shell=bash

# The archive that the host's own apt uses for the suite it runs; empty where it is not Debian.
debian_mirror() {
	[ "$(os_field ID)" = debian ] || return 0
	if [ -n "${HOLT_DEBIAN_MIRROR:-}" ]; then
		echo "$HOLT_DEBIAN_MIRROR"
		return
	fi
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Identifier: Packages' 2>/dev/null |
		awk -v suite="$(os_field VERSION_CODENAME)" '$2 == suite { print $1; exit }'
}

os_field() { sed -n "s/^$1=\"\{0,1\}\([^\"]*\)\"\{0,1\}\$/\1/p" /etc/os-release; }

# Downloads packages of a suite into a directory: private_download DIR "SOURCES LINE" PACKAGE...
private_download() {
	local dir=$1 line=$2
	shift 2
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	printf '%s\n' "$line" >"$dir/sources.list"
	local options=(
		-o "Dir::Etc::sourcelist=$dir/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Etc::preferencesparts=-
		-o "Dir::State::lists=$dir/lists" -o "Dir::Cache=$dir/cache" -o APT::Sandbox::User=root
		-o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false
	)
	timeout 300 apt-get "${options[@]}" -qq update && (cd "$dir" && timeout 300 apt-get "${options[@]}" -qq download "$@")
}

# The sources line for a suite of Debian: debian_source SUITE
debian_source() {
	local mirror
	mirror=$(debian_mirror)
	[ -n "$mirror" ] && echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main"
}
