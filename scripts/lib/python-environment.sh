# Environments of Python with the client.
# shellcheck shell=bash

# Makes an environment with a link to the client's source, unless the one there has the same
# requirements: prepare_python DIR SECONDS REQUIREMENTS [PIP ARGUMENT...]
prepare_python() {
	# An environment names its own place and that of the client, so the place counts, too.
	local dir=$1 limit=$2 requirements=$3 wanted
	shift 3
	wanted=$({ pwd; cat python/pyproject.toml python/hatch_build.py "$requirements" "$0" scripts/lib/python-environment.sh; } | sha256sum)
	if [ "$(cat "$dir/stamp" 2>/dev/null)" != "$wanted" ]; then
		rm -rf "$dir"
		# The packages of Debian have pip apart from venv.
		python3 -m venv --without-pip "$dir"
		timeout "$limit" python3 -m pip --python "$dir/bin/python" install --quiet --disable-pip-version-check \
			--timeout 20 --requirement "$requirements" "$@" --editable python >&2
		echo "$wanted" >"$dir/stamp"
	fi
	# The synchronous client is made of the asynchronous one, which may have changed.
	"$dir/bin/python" python/hatch_build.py 2>/dev/null
}
