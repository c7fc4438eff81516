#!/bin/sh
# Makes the user that commands run as, and what root may do for them.
set -eu
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
step 'user and sudo'

# Debian's own would put ~/bin and ~/.local/bin before the virtual environment.
cat >"$root/etc/skel/.profile" <<'PROFILE'
# Read by login shells. PATH is set in /etc/profile.d/holt.sh.
if [ -n "$BASH_VERSION" ] && [ -f "$HOME/.bashrc" ]; then
	. "$HOME/.bashrc"
fi
PROFILE
in_root groupadd --gid "$HOLT_GID" "$HOLT_USER"
in_root useradd --uid "$HOLT_UID" --gid "$HOLT_GID" --home-dir "$HOLT_HOME" --create-home \
	--shell "$HOLT_SHELL" --password '*' --groups sudo "$HOLT_USER"
install -d -o "$HOLT_UID" -g "$HOLT_GID" -m 0755 "$root$HOLT_WORKDIR" \
	"$root$HOLT_HOME/.local" "$root$HOLT_HOME/.local/bin" "$root$HOLT_HOME/.local/lib"
# A global npm install of the user's lands in the user's home, root's in /usr/local.
echo "prefix=$HOLT_HOME/.local" >"$root$HOLT_HOME/.npmrc"
chown "$HOLT_UID:$HOLT_GID" "$root$HOLT_HOME/.npmrc"

cat >"$root/etc/sudoers.d/holt" <<SUDOERS
%sudo ALL=(ALL:ALL) NOPASSWD: ALL
Defaults secure_path="$HOLT_PATH"
Defaults env_keep += "LANG LC_ALL VIRTUAL_ENV"
Defaults !lecture
# No user has a password to check. Without these, sudo becomes the command instead of waiting for it.
Defaults !use_pty, !pam_session, !pam_setcred, !pam_acct_mgmt
SUDOERS
chmod 0440 "$root/etc/sudoers.d/holt"
in_root visudo --check --quiet
