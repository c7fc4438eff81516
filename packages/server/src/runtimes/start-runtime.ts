import { randomBytes } from 'node:crypto'
import { GuestClient, type ImageDigest, type RuntimeSpec } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import { fromEngineError, isEngineError, isTimeout } from '../engine-errors.ts'
import { noDevice, noteGuest } from '../network/set-network.ts'
import { secretEnv } from '../secrets/secret-env.ts'
import type { Service } from '../service.ts'
import type { RuntimeRow } from '../store/tables.ts'
import { isStartFailure, startCommands, type TemplateCommands } from '../templates/start-command.ts'
import { changeState, type Reason } from './change-state.ts'
import { findRuntime, notRunning, type RuntimeRef } from './find-runtime.ts'

/** A cold boot takes a second on a slow host; a host that needs longer than this is not well. */
const startTimeoutMs = 60_000

/** Time to remove what a failed start left. */
const removeTimeoutMs = 30_000

/** The most processes and threads of a runtime. */
const pidsMax = 1024

/** What a start takes from the template. */
interface StartingTemplate {
  readonly env: Readonly<Record<string, string>>
  readonly commands: TemplateCommands
}

/** Starts the runtime of a `starting` row and tells its guest who it is. Afterwards the row is `running`, or the engine has nothing of it and the row says why. */
export async function startRuntime(service: Service, row: RuntimeRow, template: StartingTemplate): Promise<RuntimeRow> {
  return service.starts.run(row.runtime_id, async (stopped) => {
    const signal = AbortSignal.any([stopped, AbortSignal.timeout(startTimeoutMs)])
    try {
      await service.engine.ensure(specOf(row), signal)
      await service.networks.sync(refOf(row))
      const guest = await bind(service, row, { templateEnv: template.env, signal })
      await startCommands(service, template.commands, { runtimeId: row.runtime_id, guest, signal: stopped })
    } catch (error) {
      throw await giveUp(service, row, { error, stopped })
    }
    const running = await changeState(service, row, { to: 'running' })
    if (running !== null) return running
    throw notRunning(await findRuntime(service, { projectId: row.project_id, runtimeId: row.runtime_id }))
  })
}

/** What the engine is to make of a row. */
function specOf(row: RuntimeRow): RuntimeSpec {
  return {
    id: row.runtime_id,
    isolation: row.isolation,
    imageDigest: row.image_digest as ImageDigest,
    cpu: row.cpu,
    memoryMiB: row.memory_mib,
    diskMiB: row.disk_mib,
    pidsMax,
    checkpointId: row.checkpoint_id,
  }
}

function refOf(row: RuntimeRow): RuntimeRef {
  return { projectId: row.project_id, runtimeId: row.runtime_id }
}

async function bind(
  service: Service,
  row: RuntimeRow,
  { templateEnv, signal }: { templateEnv: Readonly<Record<string, string>>; signal: AbortSignal },
): Promise<GuestClient> {
  const { engine, now } = service
  const ref = refOf(row)
  const network = await service.networks.guestNetwork(ref, signal)
  const guest = new GuestClient(await engine.dial(row.runtime_id, signal))
  const ownsKernel = row.isolation === 'gvisor'
  const bound = await guest.bind(
    {
      runtime_id: row.runtime_id,
      hostname: row.name ?? row.runtime_id,
      machine_id: randomBytes(16).toString('hex'),
      env: { ...templateEnv, ...JSON.parse(row.env_json), ...(await secretEnv(service, ref)) },
      user: row.user,
      workdir: row.workdir,
      time_unix_ms: now(),
      entropy: randomBytes(64).toString('base64'),
      pids_max: ownsKernel ? pidsMax : null,
      set_clock: ownsKernel,
      set_hostname: ownsKernel,
      sudo: ownsKernel,
      network,
    },
    signal,
  )
  if (network !== null) {
    if (bound.network === false) throw noDevice()
    await noteGuest(service, ref, true)
  }
  if (ownsKernel && bound.limits?.pids === false)
    throw new HoltError('not_supported_here', 'The limit of processes could not be set inside the runtime.')
  return guest
}

/** Removes what there is of a runtime that did not start, says why in its row, and answers the client's error. */
async function giveUp(
  service: Service,
  row: RuntimeRow,
  { error, stopped }: { error: unknown; stopped: AbortSignal },
): Promise<HoltError> {
  const { engine, log } = service
  await service.networks.forget(refOf(row))
  if (stopped.aborted) return new HoltError('runtime_terminated', 'The runtime was deleted while it started.')
  const ending = (await engine.inspect(row.runtime_id).catch(() => null))?.ending ?? null
  const failure = ending?.reason === 'out_of_memory' ? tooLittleMemory(row) : meaningOf(error)
  log.warn({ err: error, runtime_id: row.runtime_id, ending }, 'a runtime did not start')
  try {
    await engine.remove(row.runtime_id, AbortSignal.timeout(removeTimeoutMs))
  } catch (removal) {
    // The row says `failed` and the engine still has it: the next reconciliation removes it.
    log.error(
      { err: removal, runtime_id: row.runtime_id },
      'what is left of a runtime that did not start could not be removed',
    )
  }
  const reason: Reason = { code: failure.code, message: failure.message }
  await changeState(service, row, { to: 'failed', reason })
  return failure
}

function tooLittleMemory({ memory_mib }: RuntimeRow): HoltError {
  return new HoltError('unsupported_setting', `${memory_mib} MiB of memory are not enough to start this template.`, {
    details: { issues: [{ pointer: '/memory', message: 'is too little to start the template' }] },
  })
}

function meaningOf(error: unknown): HoltError {
  if (error instanceof HoltError && (error.status >= 500 || isStartFailure(error))) return error
  if (isTimeout(error))
    return new HoltError('timeout', `The runtime did not start within ${startTimeoutMs / 1000} seconds.`)
  if (isEngineError(error) && ['no_space', 'not_supported', 'invalid'].includes(error.kind))
    return fromEngineError(error)
  return new HoltError('unavailable', 'The host could not start the runtime.', { cause: error })
}
