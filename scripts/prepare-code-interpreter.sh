#!/usr/bin/env bash
# Prepares the Python with the bridge's packages and the kernels of the template code-interpreter,
# and prints its path. It is below .holt/python, where git does not look. The tests and the benchmark
# use it. The first run installs 250 MB: the kernels, matplotlib and Deno.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/lib/python-environment.sh
. scripts/lib/python-environment.sh
export PATH=$PWD/node_modules/.bin:$PWD/.holt/tools/bin:$PATH
readonly TEMPLATE=templates/code-interpreter ENVIRONMENT=$PWD/.holt/python/code-interpreter
readonly DENO=$ENVIRONMENT/deno

prepare_python "$ENVIRONMENT" 300 "$TEMPLATE/tests/requirements.txt"
# The version of Deno is that of the template.
version=$(sed -n 's/.*deno@\([0-9.]*\).*/\1/p' "$TEMPLATE/Dockerfile")
if [ "$(cat "$DENO/version" 2>/dev/null)" != "$version" ]; then
	rm -rf "$DENO"
	mkdir -p "$DENO"
	timeout 300 npm install --prefix "$DENO" --silent --no-audit --no-fund "deno@$version" >&2
	ln -s "$DENO"/node_modules/@deno/linux-*/deno "$DENO/deno"
	echo "$version" >"$DENO/version"
fi
echo "$ENVIRONMENT/bin/python"
