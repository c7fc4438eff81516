#!/bin/sh
# Puts uv, Node and npm under /usr/local, from what their registries gave the host.
set -eu
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
step 'uv and Node'

install -m 0755 "$HOLT_ASSETS/uv" "$HOLT_ASSETS/uvx" "$root/usr/local/bin/"

node=$HOLT_ASSETS/node
install -m 0755 "$node/bin/node" "$root/usr/local/bin/node"
install -m 0644 -D "$node/LICENSE" "$root/usr/local/share/doc/node/LICENSE"
mkdir -p "$root/usr/local/include" "$root/usr/local/lib/node_modules" "$root/usr/local/etc"
mkdir "$root/usr/local/include/node"
cp -R --no-preserve=ownership "$node/include/node/." "$root/usr/local/include/node/"
# node-gyp wants the headers; of OpenSSL's per-machine variants only this machine's can be included.
archs=$root/usr/local/include/node/openssl/archs
if [ -d "$archs" ]; then
	find "$archs" -mindepth 1 -maxdepth 1 ! -name linux-x86_64 ! -name linux-aarch64 -exec rm -rf {} +
fi

npm=$root/usr/local/lib/node_modules/npm
mkdir "$npm"
cp -R --no-preserve=ownership "$HOLT_ASSETS/npm/." "$npm/"
rm -rf "$npm/docs" "$npm/man"
for name in npm npx; do
	ln -s "../lib/node_modules/npm/bin/$name-cli.js" "$root/usr/local/bin/$name"
done
cat >"$root/usr/local/etc/npmrc" <<'NPMRC'
update-notifier=false
fund=false
nodedir=/usr/local
NPMRC
chmod -R u=rwX,go=rX "$root/usr/local/include/node" "$npm"
