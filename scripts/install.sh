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
readonly UNITS=/etc/systemd/system UNIT_NAMES=(holtd.service holt-runtimes.service holt-drain.service)
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin DEBIAN_FRONTEND=noninteractive

say() { printf '%s\n' "$*"; }

# Ends with a reason and what to do: fail COMMAND REASON
fail() {
	printf 'FIX: %s  # %s\n' "$1" "$2" >&2
	exit 1
}

# Quotes words for a command that is printed.
quoted() { printf '%q ' "$@" | sed 's/ $//'; }
is_there() { [ -e "$1" ] || [ -L "$1" ]; }

have() { command -v "$1" >/dev/null 2>&1; }
systemd_runs() { [ -d /run/systemd/system ]; }
field() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" "$2"; }

check_machine() {
	[ "$(uname -s)" = Linux ] || fail 'use a Debian or Ubuntu machine' 'Holt runs on Linux'
	[ "$(id -u)" -eq 0 ] || fail "sudo bash $(quoted "$0")" 'mounts, loop devices and cgroups need root'
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
	local exe node
	node=$(readlink -f "$home/lib/node") || return 0
	for exe in /proc/[0-9]*/exe; do
		[ "$(readlink "$exe" 2>/dev/null)" = "$node" ] || continue
		exe=${exe%/exe}
		echo "${exe#/proc/}"
	done
}

# True if a unit of the machine runs a program of this installation: is_own_unit NAME
is_own_unit() {
	[ -f "$UNITS/$1" ] && sed -n -E 's/^Exec(Start|Stop)[[:blank:]]*=[[:blank:]]*[-@:+!|]*"?([^[:blank:]"]*).*/\2/p' "$UNITS/$1" |
		grep -xF "$home/bin/holtd" >/dev/null
}

# Prints the units of the machine that have a name of ours and are not of this installation.
foreign_units() {
	local name
	for name in "${UNIT_NAMES[@]}"; do
		if is_there "$UNITS/$name" && ! is_own_unit "$name"; then echo "$name"; fi
	done
}

check_place() {
	if dpkg-query --show --showformat '${db:Status-Status}' holt 2>/dev/null | grep -q '^installed'; then
		fail 'apt-get remove holt' 'the package holt is installed'
	fi
	local name path
	for name in $(foreign_units); do fail "rm $UNITS/$name" "$UNITS/$name does not belong to this installation"; done
	[ ! -L "$home" ] || fail "rm $home" "$home is a symbolic link, which an upgrade would replace"
	[ ! -e "$home" ] || [ "$(field name "$home/manifest.json" 2>/dev/null)" = holt ] ||
		fail "mv $home $home.mine" "$home is not an installation of Holt"
	for name in holt holtd; do
		path=$prefix/bin/$name
		! is_there "$path" || [ "$(readlink "$path")" = "$home/bin/$name" ] ||
			fail "rm $path" "$path does not belong to this installation"
	done
}

install_holt() {
	check_machine
	check_files
	check_place
	check_settings
	if [ "$check" = 1 ]; then
		local missing
		missing=$(missing_packages | tr '\n' ' ')
		[ -z "$missing" ] || fail "apt-get install --no-install-recommends $missing" "missing: $missing"
		say 'This machine has everything that Holt needs.'
		return
	fi
	install_packages
	if systemd_runs && systemctl --quiet is-active holtd.service; then
		restart=1 # at the end, also where this fails
		systemctl stop holtd.service
	fi
	[ -z "$(own_processes)" ] || fail "$prefix/bin/holt down" 'holtd of the old version still runs; runtimes continue without it'
	copy_tree
	if systemd_runs; then systemctl daemon-reload; fi
	say "Holt $(field version "$home/manifest.json") is installed in $home."
	say 'Start the service now:                holt up'
	[ ! -e "$UNITS/holtd.service" ] || say 'or with each start of the machine:    systemctl enable --now holtd'
	say "Remove it, with all state:            bash $home/install.sh --uninstall"
}

# Copies the release, and replaces the installation by the copy. If a step fails, clean_up moves the
# old installation back.
copy_tree() {
	local name
	make_dir "$prefix/lib"
	make_dir "$prefix/bin"
	stage=$(mktemp -d "$home.XXXXXX")
	cp -R "$from" "$stage/new"
	chown -R 0:0 "$stage/new"
	chmod -R u=rwX,go=rX "$stage/new"
	for name in "$stage"/new/share/systemd/*.service; do sed -i "s#@HOLT@#$home#g" "$name"; done
	[ ! -e "$home/installed" ] || cat "$home/installed" >>"$work/record"
	sort -u "$work/record" >"$stage/new/installed"
	[ ! -e "$home" ] || mv -T "$home" "$stage/old"
	mv -T "$stage/new" "$home"
	for name in holt holtd; do ln -sfn "$home/bin/$name" "$prefix/bin/$name"; done
	# Without systemd there is no such directory.
	[ ! -d "$UNITS" ] || install -m 644 "$home"/share/systemd/*.service "$UNITS/"
	replaced=1
}

# Runs at the end, also after a failure or a signal.
clean_up() {
	if [ "$replaced" = 0 ] && [ -n "$stage" ] && [ -e "$stage/old" ]; then
		if rm -rf "$home" && mv -T "$stage/old" "$home"; then
			say "The upgrade failed (see above). The earlier installation is back in $home." >&2
		else
			say "FIX: mv -T $stage/old $home  # the upgrade failed, and the earlier installation is there" >&2
			stage=''
		fi
	fi
	rm -rf "$work" ${stage:+"$stage"}
	[ "$restart" = 0 ] || systemctl start holtd.service
}

# The state directories of the service, of `holt up`, and those that were named, where they are some.
state_dirs() {
	local dir
	{
		echo /var/lib/holt
		set_state_dir
		printf '%s\n' "${named_dirs[@]}"
	} | sed -E 's#/+$##; /^$/d' | sort -u | while read -r dir; do
		if [ -e "$dir/installation.json" ]; then echo "$dir"; fi
	done
}

# The settings of the service, as systemd reads them: a value may stand in quotes (systemd.exec(5)).
settings() {
	[ -r /etc/holt/holtd.env ] || return 0
	sed -n -E "s/^[[:blank:]]*(HOLT_[A-Z0-9_]*=)(\"(.*)\"|'(.*)'|(.*))[[:blank:]]*$/\1\3\4\5/p" /etc/holt/holtd.env
}

# The state directory in the settings of the service. The last line counts.
set_state_dir() { settings | sed -n 's/^HOLT_STATE_DIR=//p' | tail -n 1; }

# Refuses a state directory that would depend on where this runs. The service refuses it too.
check_settings() {
	local dir
	dir=$(set_state_dir)
	[[ -z $dir || $dir == /* ]] ||
		fail 'write HOLT_STATE_DIR=/DIR to /etc/holt/holtd.env' "HOLT_STATE_DIR=$dir is not an absolute path"
}

# Refuses a named directory that is no state directory, since removal deletes it.
check_named_dirs() {
	local dir
	for dir in "${named_dirs[@]}"; do
		[ -e "$dir/installation.json" ] ||
			fail "bash $home/install.sh --uninstall --state-dir DIR" "$dir is not a state directory of Holt"
	done
}

# Removes a directory, and a symbolic link to it. Mount points stay: those below it, and one that is itself one, empty.
remove_tree() {
	local dir
	dir=$(readlink -m "$1")
	[ ! -L "$1" ] || rm "$1"
	[ -d "$dir" ] || return 0
	# Also where something stays, the rest is removed: find and rmdir say what they cannot remove.
	find "$dir" -xdev -mindepth 1 -delete || true
	mountpoint -q "$dir" || rmdir "$dir" || true
	[ ! -d "$dir" ] || say "$dir stays: it is a mount point, or something in it cannot be removed."
}

# Removes the claims of user ids of runtimes whose records were in a directory: release_claims DIR.
# packages/engine-host/src/runtimes/id-claims.ts makes them.
release_claims() {
	local claim dir
	dir=$(readlink -m "$1")
	for claim in /run/holt-ids/*; do
		case $(readlink "$claim") in "$1"/* | "$dir"/*) rm "$claim" ;; esac
	done
}

# Removes the compiled code that the command keeps for each user, and a cache directory that is empty
# then. Each user removes their own, since a link in a home directory could lead root elsewhere.
remove_compiled_code() {
	local uid gid dir
	while IFS=: read -r _ _ uid gid _ dir _; do
		[ -z "$dir" ] || [ ! -d "$dir/.cache/holt" ] || setpriv --reuid="$uid" --regid="$gid" --clear-groups \
			sh -c 'rm -rf --one-file-system "$1/holt" && rmdir --ignore-fail-on-non-empty "$1"' sh "$dir/.cache" 2>/dev/null || true # Said below.
	done </etc/passwd
	cut -d : -f 6 /etc/passwd | sort -u | while read -r dir; do
		[ ! -d "$dir/.cache/holt" ] || say "$dir/.cache/holt stays: its user cannot remove it."
	done
}

end_service() {
	local dir
	if systemd_runs; then
		# First, because it moves runtimes of a fleet while the service runs.
		! is_own_unit holt-drain.service || systemctl --quiet disable --now holt-drain.service 2>/dev/null || true
		! is_own_unit holtd.service || systemctl --quiet disable --now holtd.service 2>/dev/null || true
		! is_own_unit holt-runtimes.service || systemctl --quiet stop holt-runtimes.service 2>/dev/null || true
	fi
	while read -r dir; do
		end_runtimes "$dir" </dev/null
	done < <(state_dirs)
	[ -z "$(own_processes)" ] ||
		fail "bash $(quoted "$0") --uninstall --state-dir DIR" "process $(own_processes | head -n 1) runs with another state directory"
}

# Stops the service of a state directory, and ends or removes its runtimes.
end_runtimes() {
	local dir=$1 pid
	pid=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' "$dir/holtd.pid" 2>/dev/null || true)
	if [ -n "$pid" ] && [ -e "/proc/$pid" ] && ! own_processes | grep -qx "$pid"; then
		fail 'holt down' "another Holt runs with $dir (process $pid)"
	fi
	HOLT_STATE_DIR=$dir "$home/bin/holt" down >/dev/null ||
		fail "HOLT_STATE_DIR=$(quoted "$dir") $home/bin/holt down" "the service of $dir does not end"
	if [ "$keep_state" = 1 ]; then
		settings_of "$dir" "$home/bin/holtd" halt ||
			fail "HOLT_STATE_DIR=$(quoted "$dir") $home/bin/holtd halt" "runtimes of $dir cannot be ended"
		return
	fi
	settings_of "$dir" "$home/bin/holtd" purge ||
		fail "HOLT_STATE_DIR=$(quoted "$dir") $home/bin/holtd purge" "runtimes of $dir cannot be removed"
}

# Runs a program with a state directory and the settings of the service: settings_of DIR PROGRAM...
settings_of() {
	local dir=$1 line own=()
	shift
	while read -r line; do own+=("$line"); done < <(settings)
	env "${own[@]}" HOLT_STATE_DIR="$dir" "$@"
}

uninstall_holt() {
	[ "$(id -u)" -eq 0 ] || fail "sudo bash $(quoted "$0") --uninstall" 'mounts, loop devices and cgroups need root'
	[ "$(field name "$home/manifest.json" 2>/dev/null)" = holt ] || fail 'install.sh --uninstall --prefix DIR' "$home is not an installation of Holt"
	check_settings
	check_named_dirs
	local dir name dirs
	dirs=$(state_dirs)
	end_service
	cp "$home/installed" "$work/record"
	if [ "$keep_state" = 0 ]; then
		while read -r dir; do
			[ -n "$dir" ] || continue
			release_claims "$dir"
			! is_there "$dir" || remove_tree "$dir"
		done <<<"$dirs"
		[ ! -L /etc/holt ] || say "$(readlink -f /etc/holt) stays: /etc/holt is a link to it."
		rm -rf --one-file-system /etc/holt
	fi
	# Each installation has a directory in it, which the purge removes.
	for dir in /run/holt /run/holt-ids; do
		[ ! -d "$dir" ] || rmdir --ignore-fail-on-non-empty "$dir"
	done
	remove_compiled_code
	for name in holt holtd; do
		[ "$(readlink "$prefix/bin/$name")" != "$home/bin/$name" ] || rm "$prefix/bin/$name"
	done
	for name in $(foreign_units); do say "$UNITS/$name stays: it does not belong to this installation."; done
	for name in "${UNIT_NAMES[@]}"; do ! is_own_unit "$name" || rm "$UNITS/$name"; done
	remove_tree "$home"
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
		say "These packages came with Holt and stay, because other packages need some of them: ${came[*]}"
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
	local dir
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
			[[ $2/ != */../* ]] || fail "$1 /DIR" "$1 needs a path without .."
			# The path goes into units and scripts.
			[ "$1" != --prefix ] || [[ $2 =~ ^[A-Za-z0-9/._-]+$ ]] || fail "$1 /DIR" 'a prefix may have only letters, digits and /._-'
			dir=$(realpath -ms "$2")
			if [ "$1" = --prefix ]; then prefix=${dir%/}; else named_dirs+=("$dir"); fi
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
	restart=0 stage='' replaced=0
	trap clean_up EXIT
	: >"$work/record"
	if [ "$uninstall" = 1 ]; then uninstall_holt; else install_holt; fi
}

# The last line: the shell has read the whole file before the uninstallation removes it.
main "$@"
