import { spawnSync } from 'node:child_process'
import { readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../../..', import.meta.url))

/** The sources of the programs, which Node runs as they are. */
const sources = { holt: 'packages/cli/src/main.ts', holtd: 'packages/server/src/main.ts' } as const

/** The launcher's rule for a fresh bundle. */
const freshRule = '. "$1/scripts/lib/run-program.sh" && bundle_is_fresh "$1"'

let fresh: boolean | undefined

/**
 * Returns the file of a program that Node runs, as the launcher chooses it: from the bundle if no
 * source has changed since, and otherwise from the sources. A start from the bundle takes a third
 * of the processor time. The sources are compared once for each process of the tests.
 */
export function programFile(name: keyof typeof sources): string {
  fresh ??= spawnSync('sh', ['-c', freshRule, 'sh', repository.replace(/\/$/, '')]).status === 0
  if (!fresh) return sourceFile(name)
  const bundles = join(repository, 'dist', 'bundle')
  return join(bundles, readlinkSync(join(bundles, 'current')), `${name}.mjs`)
}

/** Returns the file with which the sources of a program begin. */
export function sourceFile(name: keyof typeof sources): string {
  return join(repository, sources[name])
}
