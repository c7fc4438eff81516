#!/usr/bin/env bash
# Fetches Debian's runsc of another processor: fetch-runsc.sh ARCH DIR
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=scripts/lib/report.sh
. scripts/lib/report.sh
# shellcheck source=scripts/lib/private-apt.sh
. scripts/lib/private-apt.sh
# shellcheck source=scripts/lib/runsc.sh
. scripts/lib/runsc.sh

target=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# Read before apt is told of the other processor.
HOLT_DEBIAN_MIRROR=$(debian_mirror)
export HOLT_DEBIAN_MIRROR APT_CONFIG=$dir/apt.conf
printf 'APT::Architecture "%s";\nAPT::Architectures { "%s"; };\n' "$1" "$1" >"$APT_CONFIG"
fetch_runsc "$dir" >&2
dpkg -x "$dir"/runsc_*.deb "$dir/root"
cp "$dir/root/usr/bin/runsc" "$dir/root/usr/share/doc/runsc/copyright" "$target/"
# The version of gVisor, without Debian's revision.
dpkg-deb --field "$dir"/runsc_*.deb Version | sed 's/-[^-]*$//' >"$target/version"
