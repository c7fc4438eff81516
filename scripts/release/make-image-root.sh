#!/usr/bin/env bash
# Writes the Debian layer of the container image, as a tar: make-image-root.sh SUITE PACKAGES TARGET
# PACKAGES are separated by commas. The same packages and SOURCE_DATE_EPOCH give the same bytes.
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=scripts/lib/private-apt.sh
. scripts/lib/private-apt.sh

# apt's own user cannot enter a private directory. apt works as root then, wherever the tree is made.
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf --one-file-system "$TMPDIR"' EXIT

source=$(debian_source "$1")
# The removed files have a time, a random number or the order of the installation in them.
# mmdebstrap chooses the mirror where the host has none of Debian.
mmdebstrap --quiet --mode=root --variant=minbase --include="$2" \
	--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-include=/usr/share/doc/*/copyright' \
	--customize-hook='rm -f "$1"/var/cache/ldconfig/aux-cache "$1"/etc/.pwd.lock "$1"/var/lib/dpkg/*-old "$1"/etc/*- "$1"/var/cache/debconf/*-old' \
	--customize-hook='find "$1"/var/log -type f -delete' \
	--customize-hook='find "$1" -xdev -name __pycache__ -prune -exec rm -r {} +' \
	--customize-hook='printf "deb http://deb.debian.org/debian %s main\n" '"$1"' >"$1"/etc/apt/sources.list' \
	"$1" "$3" ${source:+"$source"} >&2
