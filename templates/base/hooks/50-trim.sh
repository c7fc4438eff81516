#!/bin/sh
# Removes what only the making of the tree needed.
set -eu
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
step 'clean up'

find "$root/var/log" -type f -delete
find "$root/var/cache/debconf" "$root/var/lib/dpkg" -maxdepth 1 -name '*-old' -delete
rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap"
find "$root/run" -mindepth 1 -maxdepth 1 ! -name holt ! -name lock -exec rm -rf {} +
find "$root/root" "$root$HOLT_HOME" -mindepth 1 -maxdepth 1 -name .cache -exec rm -rf {} +
# Credentials of a private mirror stay on the host.
find "$root/etc/apt/sources.list" "$root/etc/apt/sources.list.d" -type f \
	-exec sed -i -E 's#://[^/@[:space:]]*@#://#g' {} +
