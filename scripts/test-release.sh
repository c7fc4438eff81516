#!/usr/bin/env bash
# Installs and uninstalls a release in new systems of Debian 12, Debian 13 and Ubuntu 24.04, runs a
# service from its container image, and uses its npm packages:
# test-release.sh RELEASE_DIR [bookworm|trixie|noble|image|npm...], by default all of them.
# RELEASE_DIR is the output of `npm run release`. Needs root, mmdebstrap and the mirrors of the
# distributions. A mirror that cannot be reached is named, and skips its part. HOLT_DEBIAN_MIRROR and
# HOLT_UBUNTU_MIRROR are other mirrors.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=scripts/lib/report.sh
. scripts/lib/report.sh
# shellcheck source=scripts/lib/private-apt.sh
. scripts/lib/private-apt.sh

# shellcheck source=scripts/lib/test-image.sh
. scripts/lib/test-image.sh

release=$(cd "${1:?usage: test-release.sh RELEASE_DIR [bookworm|trixie|noble|image|npm...]}" && pwd)
shift
[ $# -gt 0 ] || set -- bookworm trixie noble image npm
version=$(node -p 'require("./package.json").version')
work=$(mktemp -d)
passed=0 failed=0 skipped=0
trap 'clean_image; rm -rf --one-file-system "$work"' EXIT

# apt keeps packages that came with another one if a third one recommends or suggests them.
readonly autoremove=(--autoremove -o APT::AutoRemove::RecommendsImportant=false -o APT::AutoRemove::SuggestsImportant=false)

# Makes a system with nothing but apt: make_system SUITE
make_system() {
	local sources=()
	case $1 in
	noble) sources=("$(ubuntu_source "$1" 2>"$work/$1.log")") || return ;;
	*) sources=("$(debian_source "$1")") ;;
	esac
	[ -n "${sources[0]}" ] || sources=()
	timeout 600 mmdebstrap --quiet --mode=root --variant=minbase --include=apt,systemd-sysv \
		"$1" "$work/$1" "${sources[@]}" >"$work/$1.log" 2>&1 || return
	# The new system has the keys of its distribution in their usual place.
	sed -i 's/ \[signed-by=[^]]*\]//' "$work/$1/etc/apt/sources.list"
}

# The sources line for a suite of Ubuntu: ubuntu_source SUITE. Debian 13 has Ubuntu's keys, for a
# host that lacks them.
ubuntu_source() {
	local keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg mirror=http://archive.ubuntu.com/ubuntu
	[ "$(dpkg --print-architecture)" = amd64 ] || mirror=http://ports.ubuntu.com/ubuntu-ports
	if [ ! -e "$keys" ]; then
		private_download "$work/keys" "$(debian_source trixie)" ubuntu-keyring || return
		dpkg-deb --extract "$work"/keys/ubuntu-keyring_*.deb "$work/keys/root"
		keys=$work/keys/root$keys
	fi
	echo "deb [signed-by=$keys] ${HOLT_UBUNTU_MIRROR:-$mirror} $1 main universe"
}

# Runs a command in a system, with mounts that end with it: inside SUITE COMMAND...
inside() {
	local root=$work/$1
	shift
	# shellcheck disable=SC2016 # the inner shell's variables
	unshare --mount --pid --fork sh -c 'set -e
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --bind /dev "$root/dev"
		exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"' sh "$root" "$@"
}

# Lists the files of a system, without those that apt, dpkg, systemd and netbase make for themselves,
# and without the empty directories that mark a merged /usr in Ubuntu.
files_of() {
	find "$work/$1" -mindepth 1 -printf '%P %y %m %l\n' | LC_ALL=C sort |
		grep -vE '^(proc|dev|sys|s?bin\.usr-is-merged|var/(cache|log|lib/(apt|dpkg|systemd/deb-systemd-helper-[a-z]*))|run/systemd|etc/(resolv\.conf|hosts))(/| )'
}

# One step, which passes or fails: step NAME COMMAND...
step() {
	local name=$1
	shift
	if "$@" >"$work/step.log" 2>&1; then
		passed=$((passed + 1))
		say "ok      $name"
	else
		failed=$((failed + 1))
		say "FAILED  $name"
		tail -n 15 "$work/step.log"
	fi
}

# A part that cannot run here: skip REASON
skip() {
	skipped=$((skipped + 1))
	say "SKIPPED $1"
}

# Tests what leaves no file behind: leaves_nothing SUITE
leaves_nothing() { files_of "$1" >"$work/$1.after" && diff "$work/$1.before" "$work/$1.after"; }

# Lists the installed packages with their priorities: packages_of SUITE
# shellcheck disable=SC2016 # fields of dpkg-query
packages_of() { inside "$1" dpkg-query --show --showformat '${Package} ${Priority}\n' | LC_ALL=C sort; }

# Lists the packages that came with Holt and are still there: new_packages SUITE
new_packages() { packages_of "$1" | LC_ALL=C comm -13 "$work/$1.packages" -; }

# Tests that apt keeps only packages of the priority important, such as adduser and e2fsprogs in
# Debian 13, and those that they need. Removes them: only_important_stay SUITE
only_important_stay() {
	local important=()
	mapfile -t important < <(new_packages "$1" | sed -n 's/ important$//p')
	[ "${#important[@]}" -eq 0 ] ||
		inside "$1" apt-get -y -qq --allow-remove-essential "${autoremove[@]}" purge "${important[@]}"
	new_packages "$1"
	[ -z "$(new_packages "$1")" ]
}

try_system() {
	local suite=$1 tree deb
	cp /etc/resolv.conf "$work/$suite/etc/resolv.conf"
	tree=holt-$version-linux-$(node -p process.arch)
	deb=$(basename "$release"/holt_"$version"_"$(dpkg --print-architecture)".deb)
	files_of "$suite" >"$work/$suite.before"
	packages_of "$suite" >"$work/$suite.packages"

	mkdir "$work/$suite/media/holt"
	tar --extract --file "$release/$tree.tar.gz" --directory "$work/$suite/media/holt"
	step "$suite: install.sh installs" inside "$suite" "/media/holt/$tree/install.sh"
	rm -r "$work/$suite/media/holt"
	step "$suite: install.sh: holt runs" expect_version "$suite" holt --version
	step "$suite: install.sh: holt --help names its documentation" documentation_is_there "$suite"
	step "$suite: install.sh: the documentation site is there" inside "$suite" test -s /usr/local/lib/holt/share/site/manifest.json
	step "$suite: install.sh: holtd runs" expect_version "$suite" holtd version
	step "$suite: install.sh: the units are correct" inside "$suite" systemd-analyze verify holtd.service holt-runtimes.service holt-drain.service
	step "$suite: install.sh uninstalls" inside "$suite" bash /usr/local/lib/holt/install.sh --uninstall
	step "$suite: install.sh leaves nothing behind" leaves_nothing "$suite"

	cp "$release/$deb" "$work/$suite/media/holt.deb"
	step "$suite: the package installs" inside "$suite" apt-get -y -qq --no-install-recommends install /media/holt.deb
	rm "$work/$suite/media/holt.deb"
	step "$suite: the package: holt runs" expect_version "$suite" holt --version
	step "$suite: the package: holt --help names its documentation" documentation_is_there "$suite"
	step "$suite: the package: the documentation site is there" inside "$suite" test -s /usr/lib/holt/share/site/manifest.json
	step "$suite: the package: the units are correct" inside "$suite" systemd-analyze verify holtd.service holt-runtimes.service holt-drain.service
	step "$suite: the package is purged" inside "$suite" apt-get -y -qq "${autoremove[@]}" purge holt
	step "$suite: the package: apt keeps important packages alone" only_important_stay "$suite"
	step "$suite: the package leaves nothing behind" leaves_nothing "$suite"
}

# Installs the npm packages into a new project, and compiles a program that uses them.
outside_project() {
	local dir=$work/project
	mkdir "$dir"
	echo '{"type": "module"}' >"$dir/package.json"
	echo '{"compilerOptions": {"module": "nodenext", "target": "es2022", "strict": true, "types": ["node"]}}' >"$dir/tsconfig.json"
	echo "import { Holt } from '@holt/sdk'; export const holt = new Holt()" >"$dir/main.ts"
	local options=(--no-audit --no-fund --loglevel=error --ignore-scripts)
	(cd "$dir" && npm install "${options[@]}" "$release/holt-protocol-$version.tgz" "$release/holt-sdk-$version.tgz" typescript @types/node@24 && npx tsc --noEmit)
}

# Tests that a program of the installation prints the version: expect_version SUITE COMMAND...
expect_version() { [ "$(inside "$@")" = "$version" ]; }

# Tests that the page which the help names is there: documentation_is_there SUITE
# shellcheck disable=SC2016 # the inner shell's variables
documentation_is_there() { inside "$1" sh -c 'test -s "$(holt --help | sed -n "s/^Documentation: //p")"'; }

# One system of a distribution: test_suite SUITE
test_suite() {
	if make_system "$1"; then
		try_system "$1"
	else
		skip "$1 cannot be made: $(grep -E '^E:' "$work/$1.log" | head -n 1 || tail -n 1 "$work/$1.log")"
	fi
	rm -rf --one-file-system "${work:?}/$1"
}

test_npm() {
	if timeout 60 npm view zod version >/dev/null 2>&1; then
		step 'npm: a new project installs the packages and compiles' outside_project
	else
		skip 'the npm registry cannot be reached'
	fi
}

for part in "$@"; do
	say "== $part"
	case $part in
	bookworm | trixie | noble) test_suite "$part" ;;
	image) test_image ;;
	npm) test_npm ;;
	*) say "error: $part is no part" && exit 2 ;;
	esac
done
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
[ "$failed" -eq 0 ]
