import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The time for the start of an interpreter on a busy machine, in milliseconds. */
const startMs = 30_000

/** The newest minor version of Python 3 that is looked for. */
const newestMinor = 20

/**
 * Returns the path of an interpreter of at least Python 3.`minor`. Null if this machine has none.
 * It looks in PATH and at the versions of pyenv: in PATH, pyenv runs only the selected ones.
 */
export async function findPython(minor: number, env = process.env): Promise<string | null> {
  const versions = join(env.PYENV_ROOT ?? join(homedir(), '.pyenv'), 'versions')
  const ofPyenv = await readdir(versions).catch((): string[] => []) // No pyenv.
  const numbered = Array.from({ length: newestMinor - minor + 1 }, (_, index) => `python3.${minor + index}`)
  const candidates = ['python3', ...numbered, ...ofPyenv.map((name) => join(versions, name, 'bin/python'))]
  for (const candidate of candidates) {
    const found = await askPython(candidate, env)
    if (found !== null && found.minor >= minor) return found.path
  }
  return null
}

/** Returns the path and the minor version of a Python 3. Null for everything else. */
async function askPython(
  program: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly path: string; readonly minor: number } | null> {
  const code = 'import sys; print(sys.version_info[0], sys.version_info[1], sys.executable)'
  try {
    const { stdout } = await run(program, ['-c', code], { timeout: startMs, env })
    const [, major, minor, path] = /^(\d+) (\d+) (.+)\n$/.exec(stdout) ?? []
    return major === '3' && path !== undefined ? { path, minor: Number(minor) } : null
  } catch {
    return null // No such program, or one of pyenv's names without a selected version.
  }
}
