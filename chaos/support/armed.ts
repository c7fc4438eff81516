import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crash, restart } from '../../e2e/support/crash.ts'
import { findService, repository, type Settings } from '../../e2e/support/service-process.ts'

/** One failure: the name of its failpoint, and the hit at which it occurs. */
export interface Failure {
  readonly name: string
  readonly hit: number
  readonly action: 'error' | 'kill'
}

const directory = join(repository, '.holt', 'chaos')
const file = join(directory, 'failpoints')

/** The settings of a service with failpoints. */
export const failing: Settings = { HOLT_FAILPOINTS: `@${file}` }

let armings = 0

/** Arms one failure and disarms all others; null arms none. Hits are counted from here on. */
export function arm(failure: Failure | null): void {
  mkdirSync(directory, { recursive: true })
  armings += 1
  const line = failure === null ? '' : `${failure.name}=${failure.action}@${failure.hit}`
  writeFileSync(file, `# ${process.pid} ${armings}\n${line}\n`)
  writeFileSync(`${file}.hits`, '')
}

/** Returns the names of the failpoints that were hit since the last arming, in order. */
export function hits(): readonly string[] {
  return readFileSync(`${file}.hits`, 'utf8')
    .split('\n')
    .filter((name) => name !== '')
}

/** Returns true if a failure has occurred. */
export function hasFailed({ name, hit }: Failure): boolean {
  return hits().filter((one) => one === name).length >= hit
}

/** Restarts the service with failpoints. */
export async function startFailing(): Promise<void> {
  arm(null)
  await crash()
  await restart(failing)
}

/** Disarms, and starts the next service if the last one was killed. */
export async function restartIfKilled(): Promise<void> {
  arm(null)
  if (findService() !== null) return
  await crash() // The service is gone, so this only closes its connections.
  await restart(failing)
}

/** Returns two failures, one of each action, for every hit. */
export function failuresAt(names: readonly string[]): readonly Failure[] {
  const counts = new Map<string, number>()
  return names.flatMap((name) => {
    const hit = (counts.get(name) ?? 0) + 1
    counts.set(name, hit)
    return (['error', 'kill'] as const).map((action) => ({ name, hit, action }))
  })
}
