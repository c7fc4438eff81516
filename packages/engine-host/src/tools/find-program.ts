import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'

/** The directories in which distributions and administrators install programs. */
const PROGRAM_DIRS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/**
 * Returns the absolute path of the first of `names` that exists as a program, or null if none does.
 * An absolute name is only checked.
 */
export async function findProgram(...names: readonly string[]): Promise<string | null> {
  for (const name of names) {
    const candidates = isAbsolute(name) ? [name] : PROGRAM_DIRS.map((dir) => join(dir, name))
    for (const candidate of candidates) {
      if (await isExecutable(candidate)) return candidate
    }
  }
  return null
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return true
  } catch {
    return false // Absent and not executable have the same result here.
  }
}
