import { type CheckpointInfo, failpoint, GuestClient } from '@holt/engine'
import { HoltError } from '@holt/protocol'
import type { Runtimes } from '../runtimes.ts'

/**
 * Memory and files are written to the disk: seconds for each GiB. What is written takes no longer
 * than this.
 */
export const writeTimeoutMs = 600_000

/** Time for the guest to answer, and to end its connections. */
const guestTimeoutMs = 30_000

/** The checkpoint to write, and the future of the runtime. */
export interface WriteDown {
  readonly checkpointId: string
  /** False: the engine removes the runtime when its checkpoint is durable. */
  readonly goOn: boolean
  /**
   * Done when the checkpoint is durable, before requests are let in again; one that goes on lets
   * them in before.
   */
  readonly onTaken?: (info: CheckpointInfo) => Promise<void>
}

/**
 * Writes a running runtime down as a checkpoint: thaws it, holds requests, quiesces the guest,
 * takes the checkpoint and lets requests go on. On failure the runtime goes on as well, unless the
 * engine has lost it; what is there of the checkpoint is the caller's to remove. Open streams
 * break, and whoever serves them goes on at their cursor (`Comeback`); connections out of the
 * runtime are reset.
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
  const { checkpointId, goOn, onTaken } = what
  await guest.quiesce(within(signal), { force: true })
  await failpoint('write-down.quiesced')
  const goesOn = Promise.withResolvers<void>()
  const info = checkpoints.take(runtimeId, checkpointId, signal, { goOn, onGoOn: goesOn.resolve })
  try {
    // What was written is made durable while requests go on.
    await (goOn ? Promise.race([goesOn.promise, info]) : info)
    if (goOn) bringNetworkBack(service, runtimeId)
  } catch (error) {
    bringNetworkBack(service, runtimeId)
    throw error
  }
  await failpoint('write-down.taken')
  if (onTaken !== undefined) await onTaken(await info)
  return { info }
}

/**
 * The guest sets its network up again at the first request on its new connection: what runs inside
 * need not wait for a client's.
 */
function bringNetworkBack({ engine, log }: Runtimes, runtimeId: string): void {
  const signal = AbortSignal.timeout(guestTimeoutMs)
  engine
    .dial(runtimeId, signal)
    .then((link) => new GuestClient(link).info(signal))
    .catch((err: unknown) => log.debug({ err, runtime_id: runtimeId }, 'a runtime did not resume after its checkpoint'))
}

/** A guest like that could not be told who it is when it comes back. */
function madeBefore(): HoltError {
  return new HoltError(
    'conflict',
    'The runtime was made by an earlier version of Holt: it cannot be paused, forked or saved with its memory.',
  )
}

function within(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(guestTimeoutMs)])
}
