#!/usr/bin/env bash
# A sandbox from E2B's command line: create, exec with input, list, info, pause, resume and kill.
set -euo pipefail

e2b sandbox create base --detach >created.txt
id=$(grep -oE 'rt[a-z0-9]{20}' created.txt | head -n 1)
trap 'e2b sandbox kill "$id" >/dev/null 2>&1 || true' EXIT

[ "$(printf 'a\0b' | e2b sandbox exec "$id" 'wc -c' | tr -d ' \n')" = 3 ]
[ "$(head -c 3000000 /dev/zero | e2b sandbox exec "$id" 'wc -c' | tr -d ' \n')" = 3000000 ]
e2b sandbox list --format json >list.json
grep -q "$id" list.json
e2b sandbox info "$id" >/dev/null
e2b sandbox pause "$id"
e2b sandbox resume "$id"
[ "$(e2b sandbox exec "$id" 'echo back')" = back ]
e2b sandbox metrics "$id" >/dev/null
e2b sandbox kill "$id"
trap - EXIT
echo ok
