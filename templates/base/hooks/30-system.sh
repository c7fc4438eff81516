#!/bin/sh
# Files of /etc that must say nothing of the host, and the environment of login shells.
set -eu
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
step 'system files'

# The host's own, with its mode, was copied for the time of the installation.
rm -f "$root/etc/hostname"
echo localhost >"$root/etc/hostname"
cat >"$root/etc/hosts" <<'HOSTS'
127.0.0.1 localhost
::1 localhost ip6-localhost ip6-loopback
HOSTS
for name in resolv.conf machine-id; do
	rm -f "$root/etc/$name"
	: >"$root/etc/$name"
	chmod 0644 "$root/etc/$name"
done
rm -f "$root"/etc/ssh/ssh_host_*
# Where the runtime's sockets are mounted.
mkdir -m 0755 "$root/run/holt"

# Debian's /etc/profile sets PATH anew and then reads profile.d.
: >"$root/etc/profile.d/holt.sh"
while IFS= read -r line; do
	printf "export %s='%s'\n" "${line%%=*}" "${line#*=}" >>"$root/etc/profile.d/holt.sh"
done <"$HOLT_ASSETS/env"
chmod 0644 "$root/etc/profile.d/holt.sh"
cp "$HOLT_ASSETS/env" "$root/etc/environment"
chmod 0644 "$root/etc/environment"

# One user owns the machine, and files come in under other owners: git's ownership guard only gets in the way.
cat >"$root/etc/gitconfig" <<'GITCONFIG'
[init]
	defaultBranch = main
[safe]
	directory = *
GITCONFIG
