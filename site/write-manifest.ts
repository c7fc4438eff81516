import { createHash } from 'node:crypto'
import { globSync, statSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

/** The media types of the site's files. A file of another type fails the build. */
const mediaTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
}

/** The largest file of a site, in bytes. The service sends each from a stream. */
const maxFileBytes = 8 * 2 ** 20

/**
 * Writes `manifest.json`: the files of a site with type and digest, and the policy for its
 * pages. The service serves the files of the manifest, and no others. Each file has a compressed
 * copy beside it.
 */
export async function writeManifest(dir: string): Promise<void> {
  const files: Record<string, { type: string; digest: string }> = {}
  const scripts = new Set<string>()
  for (const name of globSync('**/*', { cwd: dir }).toSorted()) {
    const path = join(dir, name)
    if (!statSync(path).isFile()) continue
    const type = mediaTypes[extname(name)]
    if (type === undefined) throw new Error(`${name}: site/write-manifest.ts has no media type for it`)
    const written = await readFile(path)
    if (written.length > maxFileBytes) throw new Error(`${name} has more than ${maxFileBytes} bytes`)
    await writeFile(`${path}.gz`, await promisify(gzip)(written, { level: 9 }))
    const digest = createHash('sha256').update(written).digest('base64url')
    files[name] = { type, digest }
    if (name.endsWith('.html')) for (const script of inlineScripts(written.toString())) scripts.add(hashOf(script))
  }
  const manifest = { policy: policyOf([...scripts].toSorted()), files }
  await writeFile(join(dir, 'manifest.json'), JSON.stringify(manifest))
}

/** Returns the contents of the scripts inside a page. */
function inlineScripts(html: string): readonly string[] {
  return [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)].map(([, script = '']) => script)
}

function hashOf(script: string): string {
  return `'sha256-${createHash('sha256').update(script).digest('base64')}'`
}

/**
 * Returns the policy of the pages. It allows the site's files as scripts, and the small scripts of
 * VitePress inside pages by hash. Pages load only files of the service, and no other page may frame
 * them. The stylesheet of the theme has its icons as data.
 */
function policyOf(scripts: readonly string[]): string {
  return [
    "default-src 'none'",
    ["script-src 'self'", ...scripts].join(' '),
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
