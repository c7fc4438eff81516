import type { CheckpointInfo } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import { GuestClient } from '@holt/guest-client'
import { HoltError } from '@holt/protocol'
import type { Runtimes } from '../runtimes.ts'

/**
 * The time limit to write memory and files to the disk, in milliseconds. It takes seconds for each
 * GiB.
 */
export const writeTimeoutMs = 600_000

/** The time for the guest to answer, and to end its connections, in milliseconds. */
const guestTimeoutMs = 30_000

/** The checkpoint to write, and the future of the runtime. */
export interface WriteDown {
  readonly checkpointId: string
  /** False: the engine removes the runtime when its checkpoint is durable. */
  readonly leaveRunning: boolean
  /** True: the guest keeps a record of its files, which a diff compares with. Default false. */
  readonly recordFiles?: boolean | undefined
  /**
   * Called when the checkpoint is durable. If the runtime is removed, requests wait for the call.
   * If it continues, they do not.
   */
  readonly onTaken?: (info: CheckpointInfo) => Promise<void>
}

/**
 * Writes a checkpoint of a running runtime: thaws it, blocks requests, quiesces the guest, takes
 * the checkpoint and admits requests again. On failure the runtime continues, unless the engine has
 * lost it. The caller then removes the checkpoint. Open streams break, and their servers continue
 * at the cursor (`StreamRetry`). Outbound connections are reset.
 */
export async function writeDown(
  service: Runtimes,
  runtimeId: string,
  what: WriteDown,
  signal: AbortSignal,
): Promise<CheckpointInfo> {
  const { info } = await service.links.hold(
    runtimeId,
    async (guest) => {
      const { knowsRenew } = await guest.info(within(signal))
      if (!knowsRenew) throw madeBefore()
      return take(service, runtimeId, { what, guest, signal })
    },
    signal,
  )
  return info
}

async function take(
  service: Runtimes,
  runtimeId: string,
  { what, guest, signal }: { what: WriteDown; guest: GuestClient; signal: AbortSignal },
): Promise<{ readonly info: Promise<CheckpointInfo> }> {
  const checkpoints = service.engine.ability('checkpoints')
  if (checkpoints === null) throw new HoltError('not_supported_here', 'This host has no memory checkpoints.')
  const { checkpointId, leaveRunning, recordFiles = false, onTaken } = what
  if (recordFiles && !(await guest.listings.takeBaseline(checkpointId, within(signal)))) throw tooManyFiles()
  await guest.quiesce(within(signal), { force: true, baseline: recordFiles ? checkpointId : undefined })
  await failpoint('write-down.quiesced')
  const running = Promise.withResolvers<void>()
  const info = checkpoints.take(runtimeId, checkpointId, signal, { leaveRunning, onRunning: running.resolve })
  try {
    // The checkpoint becomes durable while requests continue.
    await (leaveRunning ? Promise.race([running.promise, info]) : info)
    if (leaveRunning) bringNetworkBack(service, runtimeId)
  } catch (error) {
    bringNetworkBack(service, runtimeId)
    throw error
  }
  await failpoint('write-down.taken')
  if (onTaken !== undefined) await onTaken(await info)
  return { info }
}

/**
 * Lets the guest restore its network at the first request on its new connection, so that programs
 * inside need not wait for a client.
 */
function bringNetworkBack({ engine, log }: Runtimes, runtimeId: string): void {
  const signal = AbortSignal.timeout(guestTimeoutMs)
  engine
    .dial(runtimeId, signal)
    .then((link) => new GuestClient(link).info(signal))
    .catch((err: unknown) => log.debug({ err, runtime_id: runtimeId }, 'a runtime did not resume after its checkpoint'))
}

/** Returns the error for an older guest, which could not take a new identity after the restore. */
function madeBefore(): HoltError {
  return new HoltError(
    'conflict',
    'The runtime was made by an earlier version of Holt: it cannot be paused, forked or saved with its memory.',
  )
}

/** Returns the error for a tree whose record is above the guest's limits of size or time. */
function tooManyFiles(): HoltError {
  return new HoltError('too_large', 'The runtime has too many files to record: more than 8 MiB, or than 10 seconds.', {
    hint: 'Leave out record_files. A diff can compare with a filesystem snapshot, whatever its size.',
  })
}

function within(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(guestTimeoutMs)])
}
