import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crash, restart } from '../../e2e/support/crash.ts'
import { findService, repository, type Settings } from '../../e2e/support/service-process.ts'

/** One failure: where, and with which hit of that place. */
export interface Failure {
  readonly name: string
  readonly hit: number
  readonly action: 'error' | 'kill'
}

const directory = join(repository, '.holt', 'chaos')
const file = join(directory, 'failpoints')

/** How a service is started that can be made to fail. */
export const failing: Settings = { HOLT_FAILPOINTS: `@${file}` }

let armings = 0

/** Arms one failure and no other; null: none. Hits count from here on. */
export function arm(failure: Failure | null): void {
  mkdirSync(directory, { recursive: true })
  armings += 1
  const line = failure === null ? '' : `${failure.name}=${failure.action}@${failure.hit}`
  writeFileSync(file, `# ${process.pid} ${armings}\n${line}\n`)
  writeFileSync(`${file}.hits`, '')
}

/** What was hit since something was armed, in order. */
export function hits(): readonly string[] {
  return readFileSync(`${file}.hits`, 'utf8')
    .split('\n')
    .filter((name) => name !== '')
}

/** Whether a failure has come about. */
export function hasFailed({ name, hit }: Failure): boolean {
  return hits().filter((one) => one === name).length >= hit
}

/** Starts a service anew that can be made to fail. */
export async function startFailing(): Promise<void> {
  arm(null)
  await crash()
  await restart(failing)
}

/** Disarms, and starts the next service where the last one was killed. */
export async function goOn(): Promise<void> {
  arm(null)
  if (findService() !== null) return
  await crash() // It is gone: this only lets go of its connections.
  await restart(failing)
}

/** Every hit as failures of both kinds. */
export function failuresAt(names: readonly string[]): readonly Failure[] {
  const counts = new Map<string, number>()
  return names.flatMap((name) => {
    const hit = (counts.get(name) ?? 0) + 1
    counts.set(name, hit)
    return (['error', 'kill'] as const).map((action) => ({ name, hit, action }))
  })
}
