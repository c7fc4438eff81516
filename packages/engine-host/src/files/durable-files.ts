import { access, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** Makes a file's or a directory's content survive a power cut. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/**
 * Replaces a file as a whole: a reader sees either the old content or the new. With `durable` it
 * survives a power cut.
 */
export async function replaceFile(path: string, content: string, durable: boolean): Promise<void> {
  const temporary = `${path}.tmp`
  await writeFile(temporary, content, { mode: 0o600, flush: durable })
  await rename(temporary, path)
  if (durable) await syncPath(dirname(path))
}

/** Removes an earlier process's temporary files (`.tmp-*`) from a directory of ours. */
export async function removeTemporaries(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    if (name.startsWith('.tmp-')) await rm(join(dir, name), { recursive: true, force: true })
  }
}

/** Returns true if a file exists at a path. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await access(path)
    return true
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return false
    throw error
  }
}

/** Returns true for an error with one of these codes. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.includes(String(error.code))
}
