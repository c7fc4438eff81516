import { type CheckpointInfo, EngineError, type RuntimeId, type TakeOptions } from '@holt/engine'
import { failpoint } from '@holt/failpoints'
import type { Draft } from '../checkpoints/host-checkpoints.ts'
import { checkRoom } from '../disks/room.ts'
import type { CheckpointDriver } from '../drivers/driver.ts'
import { leaveEgress } from '../egress/runtime-egress.ts'
import { cgroupOf, type Host } from '../host/host.ts'
import { clearRuntime, forgetRuntime } from '../lifecycle/remove-runtime.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'
import { usedBytesOf } from './host-disks.ts'

/** The checkpoint to write, and whether the runtime continues. */
interface Taking extends TakeOptions {
  readonly checkpointId: string
}

/**
 * Takes a checkpoint of a runtime, and ends the runtime unless `leaveRunning` is set. The runtime
 * ends only when the checkpoint is durable. Until then a failure, or the end of this process,
 * leaves the runtime as it was. A runtime that continues is paused only while the runner writes. It
 * is usable again while the checkpoint is hashed and made durable. A removal does not wait for the
 * runner: it abandons the checkpoint with kind `gone`.
 */
export function takeCheckpoint(
  host: Host,
  id: RuntimeId,
  { checkpointId, leaveRunning = false, onRunning }: Taking,
  signal: AbortSignal,
): Promise<CheckpointInfo> {
  return host.checkpoints.locks.run(checkpointId, async () => {
    const taken = await host.locks.run(id, async () => {
      signal.throwIfAborted()
      const made = await host.checkpoints.find(checkpointId)
      if (made !== null && (leaveRunning || host.runtimes.get(id)?.record.state !== 'running')) return made
      const { runtime, gvisor } = runtimeToTake(host, id)
      if (made !== null) throw new EngineError('conflict', `checkpoint ${checkpointId} exists and runtime ${id} runs`)
      const stop = AbortSignal.any([signal, runtime.cancel.signal])
      const draft = await writeDraft(host, { runtime, gvisor, checkpointId, leaveRunning }, stop)
      if (leaveRunning) onRunning?.()
      return leaveRunning ? draft : endWith(host, runtime, draft)
    })
    return 'publish' in taken ? taken.publish() : taken
  })
}

function runtimeToTake(host: Host, id: RuntimeId): { runtime: Runtime; gvisor: CheckpointDriver } {
  const runtime = host.runtimes.get(id)
  if (runtime === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
  const { gvisor } = host
  const { spec, state } = runtime.record
  if (spec.isolation !== 'gvisor' || gvisor === null)
    throw new EngineError('not_supported', `a ${spec.isolation} has no memory checkpoints`)
  if (state !== 'running') throw new EngineError('gone', `runtime ${id} does not run`)
  if (runtime.frozen) throw new EngineError('conflict', `runtime ${id} is frozen`)
  return { runtime, gvisor }
}

interface Writing {
  readonly runtime: Runtime
  readonly gvisor: CheckpointDriver
  readonly checkpointId: string
  readonly leaveRunning: boolean
}

/**
 * Lets the runner write the checkpoint. The listener is closed first, from both sides, and so is
 * the egress: gVisor refuses to checkpoint a runtime that holds a connection to the host. Both open
 * again when the runtime continues, and its guest finds them at once.
 */
async function writeDraft(
  host: Host,
  { runtime, gvisor, checkpointId, leaveRunning }: Writing,
  signal: AbortSignal,
): Promise<Draft> {
  const { paths, record } = runtime
  const [memory, disk] = await Promise.all([cgroupOf(host, paths.id).memoryInUse(), usedBytesOf(paths.diskMount)])
  const sizeBytes = memory + disk
  await checkRoom(host.layout.checkpoints, sizeBytes)
  const draft = await host.checkpoints.draft(checkpointId, record.spec, record.guest)
  try {
    await failpoint('host.draft-made')
    await Promise.all([runtime.listener.leave(), leaveEgress(runtime)])
    await gvisor.checkpoint(paths, { dir: draft.dir, sizeBytes }, signal)
    await failpoint('host.draft-written')
    if (leaveRunning) await openAgain(runtime)
    return draft
  } catch (error) {
    await draft.discard()
    await openAgain(runtime)
    throw signal.aborted ? signal.reason : error
  }
}

/**
 * Makes the checkpoint durable and ends the runtime. The runtime's activity meanwhile is invisible,
 * because its listener and its egress are closed.
 */
async function endWith(host: Host, runtime: Runtime, draft: Draft): Promise<CheckpointInfo> {
  let info: CheckpointInfo
  try {
    info = await draft.publish()
  } catch (error) {
    await openAgain(runtime)
    throw error
  }
  try {
    await clearRuntime(host, runtime)
    await forgetRuntime(host, runtime)
  } catch (err) {
    // The checkpoint is durable all the same. The next `ensure` or `remove` removes the rest.
    host.log.error({ err, runtime: runtime.paths.id }, 'cannot remove a checkpointed runtime')
    await host.runtimes.change(runtime, { state: 'preparing' })
  }
  return info
}

async function openAgain({ listener, egress }: Runtime): Promise<void> {
  await Promise.all([listener.open(), egress.comeBack()])
}
