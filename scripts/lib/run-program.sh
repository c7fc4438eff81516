# Runs holt and holtd: from their bundle while it is fresh, and otherwise from the sources.
# shellcheck shell=sh

# Succeeds if the bundle of the installation $1 was begun after every change of its sources. The
# change time (ctime) counts, because a file can be installed with an old modification time. An
# installation without sources, such as a package, cannot change.
bundle_is_fresh() {
	[ -e "$1/dist/bundle/current/files.json" ] || return 1
	[ -d "$1/packages/cli/src" ] || return 0
	changed=$(find "$1"/packages/*/src "$1"/packages/*/package.json "$1/scripts/bundle.ts" "$1/scripts/bundle" "$1/package-lock.json" \
		"$1/node_modules/.package-lock.json" -cnewer "$1/dist/bundle/current/begun" -print -quit 2>/dev/null) || return 1
	[ -z "$changed" ]
}

# The workspace's own Node, or else one on PATH that can run TypeScript. Such a Node also knows
# --disable-warning, which came with 20.11.
find_node() {
	if [ -x "$1/node_modules/.bin/node" ]; then
		node=$1/node_modules/.bin/node
		return
	fi
	node=$(command -v node || true)
	if [ -z "$node" ] || ! "$node" -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 22 || (major === 22 && minor >= 18) ? 0 : 1)'; then
		echo 'error: holt needs Node 22.18 or newer' >&2
		echo 'FIX: npm install    # in the folder of Holt: it brings its own Node' >&2
		exit 1
	fi
}

# Succeeds if everything that the sources of the installation $1 import is in its node_modules: also
# after a pull that brought another dependency.
has_dependencies() {
	[ -d "$1/node_modules/@holt" ] || return 1
	for dependency in $(sed -n '/"dependencies": {/,/}/s/^ *"\([^"]*\)": "[^"]*",\{0,1\}$/\1/p' "$1"/packages/*/package.json); do
		[ -e "$1/node_modules/$dependency" ] ||
			[ -n "$(find "$1"/packages/*/node_modules/"$dependency" -maxdepth 0 -print -quit 2>/dev/null)" ] || return 1
	done
}

# Executes a program: run_program ROOT NAME SOURCE "NODE'S FLAGS" ARGUMENT...
run_program() {
	root=$1 name=$2 source=$3 flags=$4
	shift 4
	find_node "$root"
	if bundle_is_fresh "$root"; then
		# By its own name: scripts/bundle.ts keeps a bundle that a process was started with. The shell
		# finds it without another program.
		program=$(cd -P -- "$root/dist/bundle/current" && pwd -P)/$name.mjs
	elif has_dependencies "$root"; then
		program=$root/$source
	else
		echo "error: the packages that $name needs are not installed" >&2
		echo 'FIX: npm install    # in the folder of Holt' >&2
		exit 1
	fi
	# Without the --, Node looks for --env-file among the program's own arguments, and does what
	# NODE_OPTIONS in such a file says.
	# shellcheck disable=SC2086 # flags are words
	exec "$node" --disable-warning=ExperimentalWarning $flags -- "$program" "$@"
}
