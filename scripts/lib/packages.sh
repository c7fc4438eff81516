# Programs that the distribution packages, and the package that brings each.
# setup.sh names the places: $tools for programs kept beside the repository, $apt_log for what apt says.
# shellcheck shell=bash disable=SC2154,SC2034

# program:package
readonly RUN_PACKAGES=(
	runc:runc mmdebstrap:mmdebstrap skopeo:skopeo mkfs.ext4:e2fsprogs losetup:util-linux setpriv:util-linux mount:mount
	python3:python3 tar:tar curl:curl
)
readonly TEST_PACKAGES=(
	fsck.erofs:erofs-utils buildah:buildah zsh:zsh fish:fish busybox:busybox-static setcap:libcap2-bin getfattr:attr setfattr:attr chromium:chromium
)
readonly TRIXIE_KEYS=/usr/share/keyrings/debian-archive-trixie-stable

# Installs what is missing, or says how: ensure_packages PROGRAM:PACKAGE...
ensure_packages() {
	local missing=() pair
	for pair in "$@"; do
		have "${pair%%:*}" || [[ " ${missing[*]} " == *" ${pair#*:} "* ]] || missing+=("${pair#*:}")
	done
	has_pip || missing+=(python3-pip)
	[ -s /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
	[ -e "$TRIXIE_KEYS.gpg" ] || [ -e "$TRIXIE_KEYS.pgp" ] || missing+=(debian-archive-keyring)
	[ "${#missing[@]}" -eq 0 ] && return
	if ! may_install; then
		fix "missing: ${missing[*]}" "apt-get install --no-install-recommends ${missing[*]}"
		return
	fi
	apt_install "${missing[@]}"
	check_keyring
}

has_pip() { have python3 && python3 -m pip --version >/dev/null 2>&1; }

# Only as root, where apt is, and not when only asked to look.
may_install() { [ "$(id -u)" -eq 0 ] && have apt-get && [ "${HOLT_CHECK_ONLY:-0}" = 0 ]; }

apt_install() {
	local options=(-o DPkg::Lock::Timeout=120 -y -qq --no-install-recommends)
	say "installing $*"
	if DEBIAN_FRONTEND=noninteractive timeout 900 apt-get "${options[@]}" install "$@" >"$apt_log" 2>&1; then return; fi
	# The lists may be old or not there at all.
	if timeout 300 apt-get -o DPkg::Lock::Timeout=120 -qq update >>"$apt_log" 2>&1 &&
		DEBIAN_FRONTEND=noninteractive timeout 900 apt-get "${options[@]}" install "$@" >>"$apt_log" 2>&1; then return; fi
	tail -n 5 "$apt_log"
	fix "apt-get cannot install $* (see above: the mirror may be out of reach)" \
		"apt-get update && apt-get install --no-install-recommends $*"
}

# Ubuntu's keyring package is older than Debian trixie.
check_keyring() {
	[ -e "$TRIXIE_KEYS.gpg" ] || [ -e "$TRIXIE_KEYS.pgp" ] ||
		fix "debian-archive-keyring does not know Debian trixie" \
			'install debian-archive-keyring 2025.1 or newer: packages.debian.org/trixie/all/debian-archive-keyring/download'
}

# The database server that tests start by themselves. Its package makes a cluster of its own and starts it, which nobody asked for: that is told not to be done beforehand.
ensure_test_postgres() {
	compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && return
	if ! may_install; then
		fix 'missing for the tests: PostgreSQL' 'apt-get install --no-install-recommends postgresql'
		return
	fi
	if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
		mkdir -p /etc/postgresql-common
		echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
	fi
	apt_install -o Dpkg::Options::=--force-confold postgresql
}

# Programs of packages that start a service. Only their files are taken, and the libraries that the
# machine lacks: take_program PROGRAM PACKAGE
take_program() {
	local program=$1 package=$2 root=$tools/debian/$2 dir deb path
	have "$program" && return
	if ! may_install; then
		fix "missing for the tests: $package" "apt-get install $package && systemctl disable --now $package"
		return
	fi
	say "fetching $package for the tests"
	dir=$(mktemp -d)
	mkdir -p "$dir/partial"
	local options=(-y -qq --no-install-recommends --download-only -o DPkg::Lock::Timeout=120 -o "Dir::Cache::archives=$dir" -o APT::Sandbox::User=root)
	if { timeout 300 apt-get "${options[@]}" install "$package" || { timeout 300 apt-get -qq update && timeout 300 apt-get "${options[@]}" install "$package"; }; } >"$apt_log" 2>&1; then
		rm -rf "$root"
		mkdir -p "$root"
		for deb in "$dir"/*.deb; do dpkg -x "$deb" "$root"; done
	fi
	rm -rf "$dir"
	path=$(find "$root" -type f -path "*bin/$program" -print -quit 2>/dev/null)
	if [ -z "$path" ]; then
		tail -n 5 "$apt_log"
		fix "$package cannot be fetched (see above)" "apt-get install $package && systemctl disable --now $package"
		return
	fi
	printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "$(find "$root" -type d -name '*-linux-gnu' | paste -sd :)" "$path" >"$tools/bin/$program"
	chmod 755 "$tools/bin/$program"
}

# The registry that tests pull from, and the pooler before their database. The long tests also have
# the parts of docs/two-machines.md.
ensure_test_services() {
	take_program docker-registry docker-registry
	take_program pgbouncer pgbouncer
	[ "${HOLT_TEST_LENGTH:-short}" = short ] && return
	take_program haproxy haproxy
	take_program sshd openssh-server
}
