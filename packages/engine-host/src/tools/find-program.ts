import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'

/** Where the distributions and an administrator put programs. */
const PROGRAM_DIRS = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin']

/**
 * The first of `names` that exists as a program, as an absolute path; null when none does. An
 * absolute name is only checked.
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
    return false // Absent and not executable are the same answer here.
  }
}
