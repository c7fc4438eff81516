# Shared by the hooks, which run on the host as root with the new tree as "$1".
# HOLT_ASSETS holds what was fetched for the tree; HOLT_OUT takes what a hook has to tell.
# shellcheck shell=sh

root=$1

# Says which step begins; the builder turns the line into progress.
step() {
	echo "holt-step: $1" >&2
}

# Runs a command inside the tree as root, with nothing of the host's environment.
in_root() {
	chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# Runs a command inside the tree as its user, with the environment the template promises.
in_user() {
	chroot --userspec="$HOLT_UID:$HOLT_GID" "$root" /usr/bin/env -i HOME="$HOLT_HOME" \
		LANG=C.UTF-8 PATH="$HOLT_PATH" VIRTUAL_ENV="$HOLT_VIRTUAL_ENV" "$@"
}
