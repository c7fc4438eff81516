/**
 * The part that installs missing programs with the image's own package manager. If that fails, the
 * script continues.
 */
export const installScript = `missing=
for name in bash curl sudo ss pgrep git; do command -v "$name" >/dev/null 2>&1 || missing="$missing $name"; done
[ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ] || missing="$missing ca-certificates"
packages() {
  for name in $missing; do
    case $name in
    ss) echo "$1" ;;
    pgrep) echo "$2" ;;
    *) echo "$name" ;;
    esac
  done
}
if [ -n "$missing" ]; then
  echo "installing:$missing"
  if command -v apt-get >/dev/null 2>&1; then
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(packages iproute2 procps); } >/tmp/.provision 2>&1
  elif command -v apk >/dev/null 2>&1; then apk add --no-cache $(packages iproute2 procps) >/tmp/.provision 2>&1
  elif command -v dnf >/dev/null 2>&1; then dnf install -y $(packages iproute procps-ng) >/tmp/.provision 2>&1
  elif command -v microdnf >/dev/null 2>&1; then microdnf install -y $(packages iproute procps-ng) >/tmp/.provision 2>&1
  elif command -v yum >/dev/null 2>&1; then yum install -y $(packages iproute procps-ng) >/tmp/.provision 2>&1
  else echo "no known package manager (apt-get, apk, dnf, microdnf, yum)" >/tmp/.provision; false
  fi || tail -n 5 /tmp/.provision >&2
  rm -f /tmp/.provision
fi
`

/**
 * The script that gives an image what clients expect of every sandbox: the account `user`, sudo
 * without a password, bash, curl, git, certificates, and login shells that keep the image's PATH.
 * Ready commands of the SDKs call `ss` (`waitForPort`) and `pgrep` (`waitForProcess`). The script
 * runs as root in `sh`, changes only what is missing, and needs a package manager only for missing
 * programs. Without bash it fails, and names the missing programs.
 */
export const provisionScript = `set -u
${installScript}if ! command -v bash >/dev/null 2>&1; then
  echo "the image has no bash, and it could not be installed: use an image that has it" >&2
  exit 1
fi
for name in curl sudo ss pgrep git; do command -v "$name" >/dev/null 2>&1 || echo "the image has no $name, and it could not be installed" >&2; done
[ -x /bin/bash ] || ln -s "$(command -v bash)" /bin/bash
if ! grep -q '^user:' /etc/passwd 2>/dev/null; then
  id=1000
  while grep -q "^[^:]*:[^:]*:$id:" /etc/passwd /etc/group 2>/dev/null; do id=$((id + 1)); done
  grep -q '^user:' /etc/group 2>/dev/null || echo "user:x:$id:" >>/etc/group
  group=$(sed -n 's/^user:[^:]*:\\([0-9]*\\):.*/\\1/p' /etc/group | head -n 1)
  echo "user:x:$id:$group::/home/user:/bin/bash" >>/etc/passwd
  [ ! -e /etc/shadow ] || echo 'user:!:19000:0:99999:7:::' >>/etc/shadow
fi
home=$(sed -n 's/^user:[^:]*:[^:]*:[^:]*:[^:]*:\\([^:]*\\):.*/\\1/p' /etc/passwd | head -n 1)
if [ ! -d "$home" ]; then
  mkdir -p "$home"
  [ ! -d /etc/skel ] || cp -a /etc/skel/. "$home/"
  chown -R user "$home"
  chgrp -R "$(sed -n 's/^user:[^:]*:[^:]*:\\([0-9]*\\):.*/\\1/p' /etc/passwd | head -n 1)" "$home"
fi
[ "$home" = /home/user ] || [ -e /home/user ] || ln -s "$home" /home/user
if [ -d /etc/sudoers.d ] && [ ! -e /etc/sudoers.d/user ]; then
  echo 'user ALL=(ALL:ALL) NOPASSWD: ALL' >/etc/sudoers.d/user
  chmod 0440 /etc/sudoers.d/user
fi
mkdir -p /etc/profile.d
cat >/etc/profile.d/zz-path.sh <<'END'
# A login shell keeps the PATH with which it was started.
if [ -r "/proc/$$/environ" ]; then
  started=$(tr '\\0' '\\n' <"/proc/$$/environ" 2>/dev/null | sed -n 's/^PATH=//p')
  [ -z "$started" ] || export PATH="$started"
  unset started
fi
END
`
