import { randomBytes } from 'node:crypto'
import { type GuestBound, GuestClient } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import { pidsMax } from '../../foundation/config/pids-max.ts'
import type { NewRuntimeRow } from '../../foundation/store/tables.ts'
import { noDevice, noteGuest } from '../../resources/network/note-guest.ts'
import { secretEnv } from '../../resources/secrets/secret-env.ts'
import type { Runtimes } from '../runtimes.ts'

/** The parts of a bind that are not in the row. */
interface Binding {
  /** The environment of the runtime's source, below its own. */
  readonly env: Readonly<Record<string, string>>
  /**
   * True if the guest had an earlier identity: its own before a pause, or that of the source of a
   * snapshot or a fork.
   */
  readonly renew: boolean
  /** The machine id that the guest already has. Absent: the bind assigns one. */
  readonly machineId?: string | null
  readonly signal: AbortSignal
}

/** The columns of a row that a guest receives. The row may not be stored yet. */
type BoundRow = Pick<
  NewRuntimeRow,
  'runtime_id' | 'project_id' | 'isolation' | 'name' | 'env_json' | 'user' | 'workdir'
>

/** Sends a runtime's identity to its guest, and returns the client for the guest. */
export async function bindRuntime(
  service: Runtimes,
  row: BoundRow,
  { env, renew, machineId = null, signal }: Binding,
): Promise<GuestClient> {
  const { engine, now } = service
  const ref = { projectId: row.project_id, runtimeId: row.runtime_id }
  const network = await service.networks.guestNetwork(ref, signal)
  const guest = new GuestClient(await engine.dial(row.runtime_id, signal))
  const ownsKernel = row.isolation === 'gvisor'
  const bound = await guest.bind(
    {
      runtime_id: row.runtime_id,
      hostname: row.name ?? row.runtime_id,
      machine_id: machineId ?? randomBytes(16).toString('hex'),
      env: { ...env, ...JSON.parse(row.env_json), ...(await secretEnv(service, ref)) },
      user: row.user,
      workdir: row.workdir,
      time_unix_ms: now(),
      entropy: randomBytes(64).toString('base64'),
      pids_max: ownsKernel ? pidsMax : null,
      set_clock: ownsKernel,
      set_hostname: ownsKernel,
      network,
      ...(renew ? { renew } : {}),
    },
    signal,
  )
  noteProblems(service, row, bound)
  if (renew && bound.distinct === false) throw notDistinct(bound)
  if (network !== null) {
    if (bound.network === false) throw noDevice()
    await noteGuest(service, ref, true)
  }
  if (ownsKernel && bound.limits?.pids === false)
    throw new HoltError('not_supported_here', 'The limit of processes could not be set inside the runtime.')
  return guest
}

/**
 * Logs the settings that the guest could not apply. A clock that cannot be set is no problem: it is
 * the host's clock.
 */
function noteProblems({ log }: Runtimes, { runtime_id: runtimeId }: BoundRow, { problems = [] }: GuestBound): void {
  const told = problems.filter((problem) => !problem.startsWith('clock: '))
  if (told.length > 0)
    log.warn({ runtime_id: runtimeId, problems: told }, 'a guest could not apply all settings of its bind')
}

/**
 * Returns the error of a runtime that shares keys or random numbers with another one, and must not
 * be used.
 */
function notDistinct({ problems = [] }: GuestBound): HoltError {
  const told = problems.join('; ').slice(0, 1000)
  return new HoltError('not_supported_here', `The runtime could not get an identity of its own: ${told}`)
}
