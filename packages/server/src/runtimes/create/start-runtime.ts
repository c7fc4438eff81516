import type { EngineErrorKind, ImageDigest, RuntimeSpec } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { HoltError } from '@holt/protocol'
import { pidsMax } from '../../foundation/config/pids-max.ts'
import { fromEngineError, isEngineError, isTimeout } from '../../foundation/errors/engine-errors.ts'
import { findRuntime, notRunning, refOf } from '../../foundation/rows/find-runtime.ts'
import { isDeleted } from '../../foundation/rows/states.ts'
import type { RuntimeRow } from '../../foundation/store/tables.ts'
import { secretValues } from '../../resources/secrets/secret-env.ts'
import { isStartFailure, startCommands } from '../../resources/templates/template-commands.ts'
import type { Runtimes } from '../runtimes.ts'
import { changeState, type Reason } from '../state/change-state.ts'
import { bindRuntime } from './bind-runtime.ts'
import { isolationLack, type RuntimeSource } from './runtime-source.ts'

/** The time limit of a cold boot, in milliseconds. It takes a second on a slow host. */
const startTimeoutMs = 60_000

/** The time limit of a restore, in milliseconds. The restored memory can be large. */
const restoreTimeoutMs = 300_000

/** The time limit for the removal of a failed start, in milliseconds. */
const removeTimeoutMs = 30_000

/** The kinds of failures that a client can correct. Others are failures of the host. */
const startKinds: readonly EngineErrorKind[] = ['no_space', 'not_supported', 'invalid', 'incompatible', 'damaged']

/** The parts of a source that a start uses. */
type StartedSource = Pick<RuntimeSource, 'env' | 'commands' | 'restoreOnly' | 'renew'>

/**
 * Starts the runtime of a `starting` row and binds its guest. Afterwards the row is `running`. On
 * failure, the engine has nothing of the runtime and the row has the reason.
 */
export async function startRuntime(service: Runtimes, row: RuntimeRow, source: StartedSource): Promise<RuntimeRow> {
  try {
    return await service.starts.run(row.runtime_id, (stopped) => bringUp(service, row, source, stopped))
  } finally {
    service.restores.end(row.runtime_id)
  }
}

/**
 * Does the work of `startRuntime` within a start of the caller. A runtime of a pool already runs,
 * and is only bound.
 */
export async function bringUp(
  service: Runtimes,
  row: RuntimeRow,
  { env, commands, restoreOnly, renew }: StartedSource,
  stopped: AbortSignal,
): Promise<RuntimeRow> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(restoreOnly ? restoreTimeoutMs : startTimeoutMs)])
  try {
    await failpoint('create.reserved')
    await service.engine.ensure(specOf(row, { restoreOnly }), signal)
    await failpoint('create.ensured')
    await service.networks.sync(refOf(row))
    await failpoint('create.networked')
    const guest = await bindRuntime(service, row, { env, renew, signal })
    await failpoint('create.bound')
    const secrets = () => secretValues(service, refOf(row))
    const bound = { runtimeId: row.runtime_id, guest, signal: stopped, secretValues: secrets }
    await startCommands(service, commands, bound)
    await failpoint('create.started')
  } catch (error) {
    throw await giveUp(service, row, { error, stopped })
  }
  const running = await becomeRunning(service, row, stopped)
  if (running !== null) return running
  throw notRunning(await findRuntime(service, refOf(row)))
}

/** Returns null if the row changed meanwhile. */
async function becomeRunning(service: Runtimes, row: RuntimeRow, stopped: AbortSignal): Promise<RuntimeRow | null> {
  try {
    return await changeState(service, row, { to: 'running' })
  } catch (error) {
    // A change whose error was seen may have been made.
    const now = await findRuntime(service, refOf(row))
    if (now.state === 'running') return now
    throw await giveUp(service, now, { error, stopped })
  }
}

/** Returns the engine's specification of a row. */
export function specOf(row: RuntimeRow, { restoreOnly }: { restoreOnly: boolean }): RuntimeSpec {
  return {
    id: row.runtime_id,
    isolation: row.isolation,
    imageDigest: row.image_digest as ImageDigest,
    cpu: row.cpu,
    memoryMiB: row.memory_mib,
    diskMiB: row.disk_mib,
    pidsMax,
    checkpointId: row.checkpoint_id,
    ...(restoreOnly ? { restoreOnly } : {}),
  }
}

/**
 * Removes a runtime that failed to start, writes the reason to its row, and returns the client's
 * error.
 */
async function giveUp(
  service: Runtimes,
  row: RuntimeRow,
  { error, stopped }: { error: unknown; stopped: AbortSignal },
): Promise<HoltError> {
  const { engine, log } = service
  await service.networks.forget(refOf(row))
  if (stopped.aborted) return new HoltError('runtime_terminated', 'The runtime was deleted while it started.')
  const ending = (await engine.inspect(row.runtime_id).catch(() => null))?.ending ?? null
  const failure =
    ending?.reason === 'out_of_memory'
      ? tooLittleMemory(row)
      : ((await lostClass(service, row, error)) ?? meaningOf(error))
  // The log has no output of a command: it belongs to the tenant.
  const why = isStartFailure(failure) ? { code: failure.code } : { err: error }
  log.warn({ ...why, runtime_id: row.runtime_id, ending }, 'a runtime did not start')
  try {
    await engine.remove(row.runtime_id, AbortSignal.timeout(removeTimeoutMs))
  } catch (removal) {
    // The row says `failed` and the engine still has it: the next reconciliation removes it.
    log.error(
      { err: removal, runtime_id: row.runtime_id },
      'the remains of a runtime that did not start could not be removed',
    )
  }
  const reason: Reason = { code: failure.code, message: failure.message }
  if ((await changeState(service, row, { to: 'failed', reason })) !== null) return failure
  // A delete changes the row before it stops the start.
  const now = await findRuntime(service, refOf(row))
  return isDeleted(now.state) ? notRunning(now) : failure
}

function tooLittleMemory({ memory_mib }: RuntimeRow): HoltError {
  return new HoltError('unsupported_setting', `${memory_mib} MiB of memory are too little to start this template.`, {
    details: { issues: [{ pointer: '/memory', message: 'is too little to start the template' }] },
  })
}

/**
 * Returns the error for a class that the host no longer has, with the reason and the remedy; null
 * if it has the class.
 */
async function lostClass({ engine }: Runtimes, { isolation }: RuntimeRow, error: unknown): Promise<HoltError | null> {
  if (!isEngineError(error) || error.kind !== 'not_supported') return null
  const facts = await engine.describe().catch(() => null) // The error that is there says enough.
  return facts === null ? null : isolationLack(facts, isolation)
}

function meaningOf(error: unknown): HoltError {
  if (error instanceof HoltError && (error.status >= 500 || isStartFailure(error))) return error
  if (isTimeout(error)) return new HoltError('timeout', 'The runtime did not start in time.')
  if (isEngineError(error) && startKinds.includes(error.kind)) return fromEngineError(error)
  return new HoltError('unavailable', 'The host could not start the runtime.', { cause: error })
}
