import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { installOnce } from './install-once.ts'

const run = promisify(execFile)
const kept = fileURLToPath(new URL('../../../.holt/uv', import.meta.url))

const version = '0.13.9'

/** The time for one package, in milliseconds. */
const installMs = 3 * 60_000

/**
 * Returns the program of uv, and its cache. uv resolves some frameworks in seconds for which pip
 * tries versions for many minutes.
 */
export async function pinnedUv(): Promise<{ readonly program: string; readonly cacheDir: string }> {
  const directory = await installOnce(join(kept, version), (unfinished) =>
    run('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', unfinished, `uv==${version}`], {
      timeout: installMs,
    }),
  )
  return { program: join(directory, 'bin/uv'), cacheDir: join(kept, 'cache') }
}
