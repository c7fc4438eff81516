import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import type { Runtime } from '@holt/sdk'
import { unexpected } from './steps.ts'

/** The SHA-256 of each file of a tree, by its path below the top. */
export type Digests = ReadonlyMap<string, string>

/** The files of a tree on this machine. */
export async function digestsHere(folder: string): Promise<Digests> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  return new Map(
    await Promise.all(paths.map(async (path) => [relative(folder, path), sha256(await readFile(path))] as const)),
  )
}

/** The files of a tree inside a runtime. */
export async function digestsInside(runtime: Runtime, folder: string): Promise<Digests> {
  const result = await runtime.commands.run("find . -type f -exec sha256sum '{}' +", { cwd: folder })
  if (result.exit_code !== 0) throw unexpected(`cannot read ${folder}`, result.stderr)
  const lines = result.stdout.split('\n').filter((line) => line !== '')
  return new Map(lines.map((line) => [line.slice(68), line.slice(0, 64)]))
}

/** The paths whose files are not the same in both trees. */
export function differences(left: Digests, right: Digests): string[] {
  return [...new Set([...left.keys(), ...right.keys()])].filter((path) => left.get(path) !== right.get(path)).sort()
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
