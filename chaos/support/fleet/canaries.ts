import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import type { Fleet } from '../../../e2e/support/fleet/start-fleet.ts'

/** Texts that must not be where they do not belong. */
export interface Canaries {
  /** The value of a secret. */
  readonly secret: string
  /** A part of the content of a file in a runtime. */
  readonly file: string
}

export function makeCanaries(): Canaries {
  const text = (name: string) => `canary-${name}-${randomBytes(12).toString('hex')}`
  return { secret: text('secret'), file: text('file') }
}

/**
 * Returns where the canaries were found: in the logs of hosts, in the object store, and in the
 * files of the database.
 */
export async function foundCanaries(fleet: Fleet, { secret, file }: Canaries): Promise<readonly string[]> {
  const found: string[] = []
  for (const host of fleet.hosts)
    for (const text of [secret, file])
      if (host.log(Number.POSITIVE_INFINITY).includes(text)) found.push(`${text} is in the log of ${host.place}`)
  for (const text of [secret, file])
    for (const [what, directory] of [
      ['the object store', fleet.objects.directory],
      ['the database', fleet.cluster.directory],
    ] as const)
      for (const path of await filesWith(text, directory)) found.push(`${text} is in ${what}: ${path}`)
  return found
}

/** Returns the files below a directory that contain a text. */
async function filesWith(text: string, directory: string): Promise<readonly string[]> {
  try {
    const args = [
      '--recursive',
      '--files-with-matches',
      '--fixed-strings',
      '--binary-files=text',
      '--',
      text,
      directory,
    ]
    const { stdout } = await promisify(execFile)('grep', args, { timeout: 120_000, maxBuffer: 2 ** 24 })
    return stdout.split('\n').filter(Boolean)
  } catch (error) {
    // grep ends with 1 if it finds nothing.
    if ((error as { code?: number }).code === 1) return []
    throw error
  }
}
