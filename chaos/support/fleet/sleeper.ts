import { expect } from 'vitest'
import type { FleetHost } from '../../../e2e/support/fleet/fleet-host.ts'
import type { Fleet } from '../../../e2e/support/fleet/start-fleet.ts'
import { storedAway } from '../../../e2e/support/fleet/use-fleet.ts'
import { until } from '../../../e2e/support/until.ts'
import { askHost, mustAsk, startSpeaking } from './fleet-client.ts'

const runtimesPath = '/v1/agents/runtime'
const snapshotsPath = '/v1/agents/snapshot'

/** A file of each sleeper, with random bytes. */
const file = '/workspace/random'

/** The time for a resume on a slow machine while hosts fail, in milliseconds. */
const wakeMs = 120_000

/** A paused runtime and a snapshot that the object store has: no fault of one host loses them. */
export interface Sleeper {
  readonly id: string
  readonly snapshotId: string
  /** The output of `sha256sum` of its file. */
  readonly sum: string
}

/** Runs a command in a runtime through a host, and returns its output; null: it did not run. */
async function outputAt(host: FleetHost, id: string, argv: readonly string[]): Promise<string | null> {
  const ran = await askHost(host, 'POST', `${runtimesPath}/${id}/commands`, { argv })
  return ran?.status === 200 && ran.json.exit_code === 0 ? ran.json.stdout : null
}

/** Makes a runtime with random bytes and a text in its file, takes a snapshot, and pauses it. */
export async function startSleeper(
  fleet: Fleet,
  host: FleetHost,
  { isolation, text }: { readonly isolation: string; readonly text: string },
): Promise<Sleeper> {
  const id = await startSpeaking(host, isolation)
  const script = `head -c 1M /dev/urandom >${file}; echo ${text} >>${file}; sha256sum ${file}`
  const sum = await outputAt(host, id, ['sh', '-c', script])
  if (sum === null) throw new Error(`${id} has not written its file`)
  const { snapshot_id } = await mustAsk(host, 'POST', `${runtimesPath}/${id}/snapshot`, { kind: 'memory' })
  await mustAsk(host, 'POST', `${runtimesPath}/${id}/pause`)
  await storedAway(fleet, id)
  return { id, snapshotId: snapshot_id, sum }
}

/** Tries once to resume a sleeper. Returns true if it runs, and expects its bytes then. */
export async function tryToWake(host: FleetHost, { id, sum }: Sleeper): Promise<boolean> {
  const answer = await askHost(host, 'POST', `${runtimesPath}/${id}/resume`)
  if (answer === null || answer.status >= 500 || answer.status === 409) return false
  expect([answer.status, JSON.stringify(answer.json)]).toEqual([200, expect.any(String)])
  const found = await outputAt(host, id, ['sha256sum', file])
  if (found !== null) expect(found, `the file of ${id} through ${host.place}`).toBe(sum)
  return true
}

/** Resumes a sleeper through a host, and expects its bytes. */
export async function wake(host: FleetHost, sleeper: Sleeper): Promise<void> {
  await until(`${sleeper.id} is resumed through ${host.place}`, () => tryToWake(host, sleeper), wakeMs)
  const read = () => outputAt(host, sleeper.id, ['sha256sum', file])
  expect(await until(`${sleeper.id} answers through ${host.place}`, read, wakeMs)).toBe(sleeper.sum)
}

/** Restores the sleeper's snapshot through a host, expects its bytes, and removes both. */
export async function restoreSnapshot(host: FleetHost, { snapshotId, sum }: Sleeper): Promise<void> {
  const made = await until(
    `${snapshotId} is restored through ${host.place}`,
    async () => {
      const answer = await askHost(host, 'POST', runtimesPath, { snapshot: snapshotId, timeout_secs: null })
      if (answer === null || answer.status >= 500) return null
      expect([answer.status, JSON.stringify(answer.json)]).toEqual([201, expect.any(String)])
      return answer.json.runtime_id as string
    },
    wakeMs,
  )
  const read = () => outputAt(host, made, ['sha256sum', file])
  expect(await until(`a runtime of ${snapshotId} answers`, read, wakeMs)).toBe(sum)
  await mustAsk(host, 'DELETE', `${runtimesPath}/${made}`)
  await mustAsk(host, 'DELETE', `${snapshotsPath}/${snapshotId}`)
}
