#!/usr/bin/env bash
# Installs Holt from the release directory that this file is in, or removes it. See docs/install.md.
set -euo pipefail

usage='usage: install.sh [--check] [--no-packages] [--prefix DIR]
       install.sh --uninstall [--keep-state] [--state-dir DIR]... [--prefix DIR]

  --check        report what this machine lacks, and change nothing
  --no-packages  install no packages of the distribution
  --prefix DIR   install to DIR/lib/holt, with links in DIR/bin (default: /usr/local)
  --uninstall    stop the service, and remove Holt, all runtimes and all state
  --keep-state   keep the state directory and the settings
  --state-dir DIR   another state directory to remove (default: /var/lib/holt)'

# program:package. curl and others of the base template are inside runtimes, not here.
readonly PACKAGES=(
	mmdebstrap:mmdebstrap mkfs.ext4:e2fsprogs losetup:mount setpriv:util-linux mount:mount python3:python3 tar:tar
	runc:runc ip:iproute2 skopeo:skopeo
)
readonly TRIXIE_KEYS=/usr/share/keyrings/debian-archive-trixie-stable
readonly UNITS=/etc/systemd/system
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin DEBIAN_FRONTEND=noninteractive

say() { printf '%s\n' "$*"; }

# Ends with a reason and what to do: fail COMMAND REASON
fail() {
	printf 'FIX: %s  # %s\n' "$1" "$2" >&2
	exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }
systemd_runs() { [ -d /run/systemd/system ]; }
field() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" "$2"; }

check_machine() {
	[ "$(uname -s)" = Linux ] || fail 'use a Debian or Ubuntu machine' 'Holt runs on Linux'
	[ "$(id -u)" -eq 0 ] || fail "sudo bash $0" 'mounts, loop devices and cgroups need root'
	local arch id=unknown version=''
	case $(uname -m) in
	x86_64) arch=x64 ;;
	aarch64) arch=arm64 ;;
	*) arch=$(uname -m) ;;
	esac
	[ "$(field arch "$from/manifest.json")" = "$arch" ] ||
		fail "take holt-$(field version "$from/manifest.json")-linux-$arch" "this release is for $(field arch "$from/manifest.json")"
	id=$(. /etc/os-release && echo "$ID")
	version=$(. /etc/os-release && echo "${VERSION_ID:-}")
	case $id-$version in
	debian-12 | debian-13 | ubuntu-24.04) ;;
	*) say "This release is not tested on $id $version." ;;
	esac
}

check_files() {
	(cd "$from" && sha256sum --quiet --check SHA256SUMS) >&2 ||
		fail 'unpack the release again' 'files differ from SHA256SUMS'
}

# Prints the packages that are missing.
missing_packages() {
	local pair
	{
		for pair in "${PACKAGES[@]}"; do have "${pair%%:*}" || echo "${pair#*:}"; done
		python3 -m pip --version >/dev/null 2>&1 || echo python3-pip
		[ -s /etc/ssl/certs/ca-certificates.crt ] || echo ca-certificates
		[ -e "$TRIXIE_KEYS.gpg" ] || [ -e "$TRIXIE_KEYS.pgp" ] || echo debian-archive-keyring
		"$from/lib/node" --version >/dev/null 2>&1 || echo libstdc++6
	} | sort -u
}

installed_packages() { dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort -u; }

# Prints what apt would install with the packages.
planned_packages() {
	apt-get -s --no-install-recommends install "$@" 2>/dev/null | sed -n 's/^Inst \([^ :]*\).*/\1/p' | sort -u || true
}

# Installs missing packages, and notes each one that came, also those they depend on.
install_packages() {
	local missing=() before planned
	mapfile -t missing < <(missing_packages)
	[ "${#missing[@]}" -gt 0 ] || return 0
	local command="apt-get install --no-install-recommends ${missing[*]}"
	[ "$packages" = 1 ] && have apt-get || fail "$command" "missing: ${missing[*]}"
	say "Installing ${missing[*]}"
	local log=$work/apt.log options=(-o DPkg::Lock::Timeout=120 -y -qq --no-install-recommends)
	before=$(installed_packages)
	planned=$(planned_packages "${missing[@]}")
	if ! apt-get "${options[@]}" install "${missing[@]}" >"$log" 2>&1; then
		# The lists may be old, or missing.
		apt-get -o DPkg::Lock::Timeout=120 -qq update >>"$log" 2>&1 || true
		planned=$(planned_packages "${missing[@]}")
		apt-get "${options[@]}" install "${missing[@]}" >>"$log" 2>&1 || {
			tail -n 5 "$log" >&2
			fail "apt-get update && $command" 'the packages cannot be installed (see above)'
		}
	fi
	# Others may have installed packages while apt waited for its lock.
	comm -13 <(printf '%s\n' "$before") <(installed_packages) | comm -12 - <(printf '%s\n' "$planned") |
		sed 's/^/package /' >>"$work/record"
	[ -e "$TRIXIE_KEYS.gpg" ] || [ -e "$TRIXIE_KEYS.pgp" ] ||
		say 'FIX: install debian-archive-keyring 2025.1 or newer  # the keys of Debian 13 are missing, for the base template'
}

# Creates a directory and its parents, and notes each one for the uninstallation.
make_dir() {
	[ -d "$1" ] && return
	make_dir "$(dirname "$1")"
	mkdir "$1"
	chmod 755 "$1"
	printf 'made %s\n' "$1" >>"$work/record"
}

# The processes that run from the installation.
own_processes() {
	local exe
	for exe in /proc/[0-9]*/exe; do
		[ "$(readlink "$exe" 2>/dev/null)" = "$home/lib/node" ] || continue
		exe=${exe%/exe}
		echo "${exe#/proc/}"
	done
}

# False if the unit of the service is there and starts another installation.
has_own_units() { [ ! -e "$UNITS/holtd.service" ] || grep -qF "$home/bin/holtd" "$UNITS/holtd.service"; }

check_place() {
	if dpkg-query --show --showformat '${db:Status-Status}' holt 2>/dev/null | grep -q '^installed'; then
		fail 'apt-get remove holt' 'the package holt is installed'
	fi
	local name path
	has_own_units || fail "rm $UNITS/holtd.service" "$UNITS/holtd.service starts another installation of Holt"
	[ ! -e "$home" ] || [ "$(field name "$home/manifest.json" 2>/dev/null)" = holt ] ||
		fail "mv $home $home.mine" "$home is no installation of Holt"
	for name in holt holtd; do
		path=$prefix/bin/$name
		[ ! -e "$path" ] && [ ! -L "$path" ] || [ "$(readlink "$path")" = "$home/bin/$name" ] ||
			fail "rm $path" "$path is not of this installation"
	done
}

install_holt() {
	check_machine
	check_files
	check_place
	if [ "$check" = 1 ]; then
		local missing
		missing=$(missing_packages | tr '\n' ' ')
		[ -z "$missing" ] || fail "apt-get install --no-install-recommends $missing" "missing: $missing"
		say 'This machine has what Holt needs.'
		return
	fi
	install_packages
	if systemd_runs && systemctl --quiet is-active holtd.service; then
		restart=1 # at the end, also where this fails
		systemctl stop holtd.service
	fi
	[ -z "$(own_processes)" ] || fail "$prefix/bin/holt down" 'holtd runs from the old version; runtimes go on without it'
	copy_tree
	if systemd_runs; then systemctl daemon-reload; fi
	say "Holt $(field version "$home/manifest.json") is installed in $home."
	say 'Start the service now:                holt up'
	[ ! -e "$UNITS/holtd.service" ] || say 'or with each start of the machine:    systemctl enable --now holtd'
	say "Remove it, with all state:            bash $home/install.sh --uninstall"
}

copy_tree() {
	local name
	make_dir "$prefix/lib"
	make_dir "$prefix/bin"
	rm -rf "$home.new"
	cp -R "$from" "$home.new"
	chown -R 0:0 "$home.new"
	chmod -R u=rwX,go=rX "$home.new"
	for name in "$home.new"/share/systemd/*.service; do sed -i "s#@HOLT@#$home#g" "$name"; done
	[ ! -e "$home/installed" ] || cat "$home/installed" >>"$work/record"
	sort -u "$work/record" >"$home.new/installed"
	[ ! -e "$home" ] || mv "$home" "$home.before-$$"
	mv "$home.new" "$home"
	rm -rf "$home.before-$$"
	for name in holt holtd; do ln -sfn "$home/bin/$name" "$prefix/bin/$name"; done
	# Without systemd there is no such directory.
	[ ! -d "$UNITS" ] || install -m 644 "$home"/share/systemd/*.service "$UNITS/"
}

# The state directories of the service, of `holt up`, and those that were named, where they are some.
state_dirs() {
	local dir
	{
		echo /var/lib/holt
		settings | sed -n 's/^HOLT_STATE_DIR=//p'
		printf '%s\n' "${named_dirs[@]}"
	} | sed '/^$/d' | sort -u | while read -r dir; do
		if [ -e "$dir/installation.json" ]; then echo "$dir"; fi
	done
}

# The settings of the service, as systemd reads them: a value may stand in quotes (systemd.exec(5)).
settings() {
	[ -r /etc/holt/holtd.env ] || return 0
	sed -n -E "s/^(HOLT_[A-Z0-9_]*=)(\"(.*)\"|'(.*)'|(.*))[[:blank:]]*$/\1\3\4\5/p" /etc/holt/holtd.env
}

# Refuses a named directory that is no state directory, since removal deletes it.
check_named_dirs() {
	local dir
	for dir in "${named_dirs[@]}"; do
		[ -z "$dir" ] || [ -e "$dir/installation.json" ] ||
			fail "bash $home/install.sh --uninstall --state-dir DIR" "$dir is no state directory of Holt"
	done
}

# Removes a state directory. One that is a mount point stays, empty.
remove_state() {
	find "$1" -xdev -mindepth 1 -delete
	mountpoint -q "$1" || rmdir "$1"
}

end_service() {
	local dir
	if systemd_runs && has_own_units; then
		systemctl --quiet disable --now holtd.service 2>/dev/null || true
		systemctl --quiet stop holt-runtimes.service 2>/dev/null || true
	fi
	while read -r dir; do
		end_runtimes "$dir" </dev/null
	done < <(state_dirs)
	[ -z "$(own_processes)" ] ||
		fail "bash $0 --uninstall --state-dir DIR" "process $(own_processes | head -n 1) runs with another state directory"
}

# Stops the service of a state directory, and ends or removes its runtimes.
end_runtimes() {
	local dir=$1 pid
	pid=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$dir/holtd.pid" 2>/dev/null || true)
	if [ -n "$pid" ] && [ -e "/proc/$pid" ] && ! own_processes | grep -qx "$pid"; then
		fail 'holt down' "another Holt runs with $dir (process $pid)"
	fi
	HOLT_STATE_DIR=$dir "$home/bin/holt" down >/dev/null ||
		fail "HOLT_STATE_DIR=$dir $home/bin/holt down" "the service of $dir does not end"
	if [ "$keep_state" = 1 ]; then
		settings_of "$dir" "$home/bin/holtd" halt ||
			fail "HOLT_STATE_DIR=$dir $home/bin/holtd halt" "runtimes of $dir cannot be ended"
		return
	fi
	settings_of "$dir" "$home/bin/holtd" purge ||
		fail "HOLT_STATE_DIR=$dir $home/bin/holtd purge" "runtimes of $dir cannot be removed"
}

# Runs a program with a state directory and the settings of the service: settings_of DIR PROGRAM...
settings_of() {
	local dir=$1 line own=()
	shift
	while read -r line; do own+=("$line"); done < <(settings)
	env "${own[@]}" HOLT_STATE_DIR="$dir" "$@"
}

uninstall_holt() {
	[ "$(id -u)" -eq 0 ] || fail "sudo bash $0 --uninstall" 'mounts, loop devices and cgroups need root'
	[ "$(field name "$home/manifest.json" 2>/dev/null)" = holt ] || fail 'install.sh --uninstall --prefix DIR' "$home is no installation of Holt"
	check_named_dirs
	local dir name dirs
	dirs=$(state_dirs)
	end_service
	cp "$home/installed" "$work/record"
	if [ "$keep_state" = 0 ]; then
		while read -r dir; do
			[ -z "$dir" ] || [ ! -d "$dir" ] || remove_state "$dir"
		done <<<"$dirs"
		rm -rf /etc/holt
	fi
	# Each installation has a directory in it, which the purge removes.
	for dir in /run/holt /run/holt-ids; do
		[ ! -d "$dir" ] || rmdir --ignore-fail-on-non-empty "$dir"
	done
	# The compiled code that the command keeps for each user.
	cut -d : -f 6 /etc/passwd | sort -u | while read -r dir; do
		# A user could lead root elsewhere by a link.
		[ -L "$dir/.cache" ] || [ -L "$dir/.cache/holt" ] || [ ! -d "$dir/.cache/holt" ] ||
			rm -rf --one-file-system "$dir/.cache/holt"
	done
	for name in holt holtd; do rm -f "$prefix/bin/$name"; done
	! has_own_units || rm -f "$UNITS/holtd.service" "$UNITS/holt-runtimes.service"
	rm -rf "$home"
	if systemd_runs; then systemctl daemon-reload; fi
	sed -n 's/^made //p' "$work/record" | sort -r | while read -r dir; do
		[ ! -d "$dir" ] || rmdir --ignore-fail-on-non-empty "$dir"
	done
	remove_packages
	say 'Holt is removed.'
}

# Removes the packages that came with the installation, unless a later package needs one.
remove_packages() {
	local came=() gone
	mapfile -t came < <(comm -12 <(sed -n 's/^package //p' "$work/record" | sort -u) <(installed_packages))
	[ "${#came[@]}" -gt 0 ] || return 0
	gone=$(apt-get -s purge "${came[@]}" | sed -n 's/^\(Purg\|Remv\) \([^ ]*\).*/\2/p' | sort -u)
	if [ -n "$(comm -13 <(printf '%s\n' "${came[@]}" | sort -u) <(printf '%s\n' "$gone"))" ]; then
		say "Other packages need some of those that came with Holt. They stay: ${came[*]}"
		return
	fi
	say "Removing the packages that came with it: ${came[*]}"
	# Debian 13 counts e2fsprogs among the essential ones.
	apt-get -o DPkg::Lock::Timeout=120 -y -qq --allow-remove-essential purge "${came[@]}" >"$work/apt.log" 2>&1 || {
		tail -n 5 "$work/apt.log" >&2
		fail "apt-get purge ${came[*]}" 'the packages cannot be removed (see above)'
	}
}

main() {
	from=$(cd "$(dirname "$0")" && pwd -P)
	prefix=/usr/local packages=1 check=0 uninstall=0 keep_state=0
	named_dirs=()
	while [ $# -gt 0 ]; do
		case $1 in
		--check) check=1 ;;
		--no-packages) packages=0 ;;
		--uninstall) uninstall=1 ;;
		--keep-state) keep_state=1 ;;
		--prefix | --state-dir)
			[[ ${2:-} == /* ]] || fail "$1 /DIR" "$1 needs an absolute path"
			# The path goes into units and scripts.
			[ "$1" != --prefix ] || [[ $2 =~ ^[A-Za-z0-9/._-]+$ ]] || fail "$1 /DIR" 'a prefix has letters, digits and /._- only'
			if [ "$1" = --prefix ]; then prefix=${2%/}; else named_dirs+=("${2%/}"); fi
			shift
			;;
		*)
			say "$usage" >&2
			exit 2
			;;
		esac
		shift
	done
	home=$prefix/lib/holt
	work=$(mktemp -d)
	restart=0
	trap 'rm -rf "$work"; [ "$restart" = 0 ] || systemctl start holtd.service' EXIT
	: >"$work/record"
	if [ "$uninstall" = 1 ]; then uninstall_holt; else install_holt; fi
}

# The last line: the shell has read the whole file before the uninstallation removes it.
main "$@"
