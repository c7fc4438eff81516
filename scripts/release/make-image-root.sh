#!/usr/bin/env bash
# Writes the root of the container image: make-image-root.sh SUITE DEB TARGET
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=scripts/lib/private-apt.sh
. scripts/lib/private-apt.sh

source=$(debian_source "$1")
# mmdebstrap chooses the mirror where the host has none of Debian.
mmdebstrap --quiet --mode=root --variant=minbase --dpkgopt=path-exclude=/usr/share/man/* --dpkgopt=path-exclude=/usr/share/locale/* \
	--customize-hook="upload '$2' /holt.deb" \
	--customize-hook='chroot "$1" apt-get -y -qq --no-install-recommends install /holt.deb' \
	--customize-hook='rm "$1/holt.deb"' \
	"$1" "$3" ${source:+"$source"} >&2
