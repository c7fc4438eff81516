#!/bin/sh
# Writes /etc/holt-release, which says what the tree is, and tells the builder the same.
set -eu
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
step 'facts'

debian=$(cat "$root/etc/debian_version")
python=$(in_user python -c 'import platform; print(platform.python_version())')
node=$(in_user node --print process.versions.node)
lts=$(in_user node --print process.release.lts)
npm=$(in_user npm --version)
uv=$(in_user uv --version | cut -d ' ' -f 2)
# shellcheck disable=SC2016 # jq's own variables
in_root jq --null-input \
	--arg recipe "$HOLT_RECIPE" --argjson version "$HOLT_RECIPE_VERSION" --arg debian "$debian" \
	--arg python "$python" --arg source "$HOLT_PYTHON_SOURCE" \
	--arg node "$node" --arg lts "$lts" --arg npm "$npm" --arg uv "$uv" \
	'{recipe: $recipe, version: $version, debian: $debian, python: {version: $python, source: $source},
	  node: {version: $node, lts: $lts}, npm: $npm, uv: $uv}' >"$HOLT_OUT/release.json"
install -m 0644 "$HOLT_OUT/release.json" "$root/etc/holt-release"
# shellcheck disable=SC2016 # dpkg-query's own variables
in_root dpkg-query --show --showformat '${Package}\t${Version}\n' >"$HOLT_OUT/packages.tsv"
find "$root/root" "$root$HOLT_HOME" -mindepth 1 -maxdepth 1 \( -name .cache -o -name .npm \) -exec rm -rf {} +
