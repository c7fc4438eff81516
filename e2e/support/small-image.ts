import { join } from 'node:path'
import { run } from '../../packages/builder/test/support/machine.ts'
import { tarOf, writeLayout } from '../../packages/builder/test/support/oci-image.ts'

/** The programs of a small image, which are those of this machine. */
const programs =
  'bash sh cat chgrp chmod chown cp env false grep head id ln ls mkdir rm sed seq sleep stat tail touch tr true useradd'

/** Makes the tree of an image with these programs and their libraries. */
const treeScript = `mkdir -p bin usr/bin usr/sbin etc/skel root tmp proc dev run
for name in ${programs}; do
  file=; for at in /usr/bin /usr/sbin /bin; do [ -n "$file" ] || [ ! -x "$at/$name" ] || file=$at/$name; done
  [ -n "$file" ] || continue
  cp -L "$file" "bin/$name"
  ldd "$file" 2>/dev/null | grep -o '/[^ )]*' | while read -r lib; do mkdir -p ".$(dirname "$lib")"; cp -nL "$lib" ".$lib"; done
done
chmod 1777 tmp
echo 'root:x:0:0:root:/root:/bin/bash' >etc/passwd; echo 'root:x:0:' >etc/group; echo 'from skel' >etc/skel/.profile-note`

/** Optional parts of a small image: `creds` is `name:password` for its registry. */
interface ImageOptions {
  readonly creds?: string
}

/**
 * Makes a small image in `dir`, of programs of this machine, and pushes it to a registry without
 * TLS, under each of the names. `config` is the configuration of the image.
 */
export async function pushSmallImage(
  dir: string,
  names: readonly string[],
  config: object,
  { creds }: ImageOptions = {},
): Promise<void> {
  const tar = await tarOf(join(dir, 'tree'), treeScript)
  const layout = join(dir, 'layout')
  await writeLayout(layout, [{ tar, compression: 'gzip' }], { config })
  const login = creds === undefined ? [] : ['--dest-creds', creds]
  const copy = ['skopeo', '--insecure-policy', 'copy', '--quiet', '--dest-tls-verify=false', ...login]
  for (const name of names) run([...copy, `oci:${layout}`, `docker://${name}`])
}
