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
	local ended=0
	install_npm_packages || ended=$?
	if [ "$ended" -ne 0 ]; then
		show_npm_end "$ended"
		if certificate_failed; then
			fix 'the certificate of the npm registry is not trusted here' 'export NODE_EXTRA_CA_CERTS=FILE  (of the authority that signed it; or: npm config set cafile FILE), then try again'
		elif registry_failed; then
			fix 'the npm registry cannot be reached' 'npm config set registry URL  (of one that can; or set HTTPS_PROXY, then try again)'
		else
			fix 'npm cannot install the packages' 'npm ci'
		fi
		return
	fi
	# npm since 12 runs no scripts of packages unless told to, and links no program that is not there yet.
	ended=0
	local_node_works || fetch_node >"$npm_log" 2>&1 || ended=$?
	[ "$ended" -eq 0 ] || show_npm_end "$ended"
	local_node_works || fix 'the npm package node did not bring its binary' 'npm ci --foreground-scripts'
}

# The packages of the documentation site. Only builds of the site need them, so they are a project of
# their own: the quickstart installs none of them.
ensure_site_packages() {
	if [ -e site/node_modules/.package-lock.json ] && [ ! site/package-lock.json -nt site/node_modules/.package-lock.json ]; then
		return
	fi
	if [ "${HOLT_CHECK_ONLY:-0}" = 1 ]; then
		fix 'the packages of the documentation site are missing or older than site/package-lock.json' 'npm ci --prefix site'
		return
	fi
	say 'installing the packages of the documentation site'
	local ended=0
	timeout 900 npm ci --prefix site "${npm_options[@]}" >"$npm_log" 2>&1 || ended=$?
	[ "$ended" -eq 0 ] && return
	show_npm_end "$ended"
	fix 'npm cannot install the packages of the documentation site' 'npm ci --prefix site'
}

# npm's own timeout for a registry that does not answer is many minutes, without output.
readonly npm_options=(--no-audit --no-fund --loglevel=error --fetch-retries=1 --fetch-retry-mintimeout=2000 --fetch-timeout=60000)

install_npm_packages() {
	timeout 900 npm ci "${npm_options[@]}" >"$npm_log" 2>&1 && return
	local ended=$?
	if registry_failed || certificate_failed || [ "$ended" -eq "$timed_out" ]; then return "$ended"; fi
	# A lock file made where the registry lacks packages of other platforms is not complete enough for `npm ci`;
	# `npm install` takes the versions it names all the same.
	timeout 900 npm install --no-save "${npm_options[@]}" >>"$npm_log" 2>&1
}

# The exit code of timeout(1) for a program that took too long.
readonly timed_out=124

# Shows the end of npm's output, after it has ended with exit code $1.
show_npm_end() {
	if [ -s "$npm_log" ]; then
		say "npm ended with exit code $1. The end of its output:"
		tail -n 15 "$npm_log" | sed 's/^/  /'
	fi
	[ "$1" -ne "$timed_out" ] || say 'npm took too long and was ended.'
}

certificate_failed() { grep -qE 'SELF_SIGNED_CERT|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_VERIFY_LEAF_SIGNATURE|CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|ERR_TLS_CERT' "$npm_log"; }

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
