import { createHash } from 'node:crypto'
import { globSync, statSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** The media types of the console's files. A file of another type fails the build. */
const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Writes `manifest.json`: the files of the console with type and digest. The service serves them,
 * and no others. Each file has copies beside it, compressed with brotli and gzip.
 */
export async function writeManifest(dir: string): Promise<void> {
  const names = globSync('**/*', { cwd: dir }).filter((name) => statSync(join(dir, name)).isFile())
  const entries = await Promise.all(
    names.toSorted().map(async (name) => {
      const type = mediaTypes[extname(name)]
      if (type === undefined) throw new Error(`${name}: build/write-manifest.ts has no media type for it`)
      const path = join(dir, name)
      const written = await readFile(path)
      const params = { [constants.BROTLI_PARAM_SIZE_HINT]: written.length }
      await writeFile(`${path}.br`, await promisify(brotliCompress)(written, { params }))
      await writeFile(`${path}.gz`, await promisify(gzip)(written, { level: 9 }))
      return [name, { type, digest: createHash('sha256').update(written).digest('base64url'), compressed: true }]
    }),
  )
  await writeFile(join(dir, 'manifest.json'), JSON.stringify({ files: Object.fromEntries(entries) }))
}
