#!/bin/sh
# Seeds the virtual environment that python, pip and uv resolve into.
set -eu
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
step 'Python environment'

if [ "$HOLT_PYTHON_SOURCE" = uv ]; then
	home=${HOLT_PYTHON%/bin/python3}
	mkdir -p "$root$home"
	cp -R --no-preserve=ownership "$HOLT_ASSETS/python/${home##*/}/." "$root$home/"
	# uv writes the place of the installation into sysconfig and pkg-config files.
	grep -rlIF "$HOLT_ASSETS/python/" "$root$home" | while IFS= read -r file; do
		sed -i "s#$HOLT_ASSETS/python/#${home%/*}/#g" "$file"
	done
	chmod -R u=rwX,go=rX "$root$home"
fi
mkdir -m 0755 "$root/tmp/wheels"
install -m 0644 "$HOLT_ASSETS"/wheels/*.whl "$root/tmp/wheels/"
in_user uv venv --quiet --no-config --no-cache --offline --no-index --find-links /tmp/wheels --seed \
	--python "$HOLT_PYTHON" "$HOLT_VIRTUAL_ENV"
rm -rf "$root/tmp/wheels"
in_user python -m pip --version >/dev/null
