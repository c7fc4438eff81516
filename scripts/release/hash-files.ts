import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

/** The name of the file with the sums of a directory. */
export const sumsName = 'SHA256SUMS'

/**
 * Writes the SHA-256 sum of every file below a directory, sorted by name, in the form of
 * sha256sum(1).
 */
export async function writeSums(dir: string, names?: readonly string[]): Promise<void> {
  const lines: string[] = []
  for (const name of (names ?? (await filesBelow(dir))).toSorted())
    if (name !== sumsName) lines.push(`${await sha256Of(join(dir, name))}  ${name}\n`)
  await writeFile(join(dir, sumsName), lines.join(''))
}

/** Returns the paths of the files below a directory, relative to it. */
export async function filesBelow(dir: string): Promise<readonly string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(dir, join(entry.parentPath, entry.name)))
}

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer)
  return hash.digest('hex')
}
