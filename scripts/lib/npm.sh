# The npm packages, and Node 24 among them.
# setup.sh names $npm_log, where npm's words go.
# shellcheck shell=bash disable=SC2154

ensure_npm_packages() {
	if [ -e node_modules/.package-lock.json ] && [ ! package-lock.json -nt node_modules/.package-lock.json ] && local_node_works; then
		return
	fi
	if [ "${HOLT_CHECK_ONLY:-0}" = 1 ]; then
		fix 'the npm packages are missing or older than package-lock.json' 'npm ci'
		return
	fi
	say 'installing npm packages'
	if ! install_npm_packages; then
		tail -n 15 "$npm_log"
		if registry_failed; then
			fix 'the npm registry cannot be reached' 'npm config set registry URL  (of one that can; or set HTTPS_PROXY, then try again)'
		else
			fix 'npm cannot install the packages (see above)' 'npm ci'
		fi
		return
	fi
	# npm since 12 runs no scripts of packages unless told to, and links no program that is not there yet.
	local_node_works || fetch_node >"$npm_log" 2>&1 || tail -n 5 "$npm_log"
	local_node_works || fix 'the npm package node did not bring its binary' 'npm ci --foreground-scripts'
}

# npm's own patience with a registry that does not answer is many minutes, in silence.
install_npm_packages() {
	local options=(--no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-retry-mintimeout=2000 --fetch-timeout=60000)
	timeout 900 npm ci "${options[@]}" >"$npm_log" 2>&1 && return
	registry_failed && return 1
	# A lock file made where the registry lacks packages of other platforms is not complete enough for `npm ci`;
	# `npm install` takes the versions it names all the same.
	timeout 900 npm install --no-save "${options[@]}" >>"$npm_log" 2>&1
}

registry_failed() { grep -qE 'ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|ERR_SOCKET_TIMEOUT|network' "$npm_log"; }

# What the package's own script does: it installs the binary for this platform and puts it in its place.
fetch_node() {
	(cd node_modules/node && timeout 300 node installArchSpecificPackage.js) &&
		mkdir -p node_modules/.bin && ln -sfn ../node/bin/node node_modules/.bin/node
}

local_node_works() {
	local version
	[ -x node_modules/.bin/node ] && version=$(node_modules/.bin/node --version 2>/dev/null) && at_least "${version#v}" 24
}
