import { type CheckpointInfo, EngineError, failpoint, type RuntimeId, type TakeOptions } from '@holt/engine'
import type { Draft } from './checkpoints/host-checkpoints.ts'
import { usedBytesOf } from './disks/host-disks.ts'
import type { CheckpointDriver } from './drivers/driver.ts'
import { leaveEgress } from './egress/host-egress.ts'
import { cgroupOf, type Host } from './host/host.ts'
import { checkRoom } from './host/room.ts'
import { clearRuntime, forgetRuntime } from './remove-runtime.ts'
import type { Runtime } from './runtimes/runtime-registry.ts'

/** What is to be written, and what becomes of the runtime. */
interface Taking extends TakeOptions {
  readonly checkpointId: string
}

/**
 * Writes a runtime down, and ends it unless it is to go on. It ends only when what was written is
 * durable: until then a failure, or the end of this process, leaves the runtime as it was. One that
 * goes on stands still for the runner alone; it is in use again while what was written is hashed
 * and made durable. A removal does not wait for the runner: what it writes is given up, with kind
 * `gone`.
 */
export function takeCheckpoint(
  host: Host,
  id: RuntimeId,
  { checkpointId, goOn = false, onGoOn }: Taking,
  signal: AbortSignal,
): Promise<CheckpointInfo> {
  return host.checkpoints.locks.run(checkpointId, async () => {
    const taken = await host.locks.run(id, async () => {
      signal.throwIfAborted()
      const made = await host.checkpoints.find(checkpointId)
      if (made !== null && (goOn || host.runtimes.get(id)?.record.state !== 'running')) return made
      const { runtime, gvisor } = runtimeToTake(host, id)
      if (made !== null) throw new EngineError('conflict', `checkpoint ${checkpointId} exists and runtime ${id} runs`)
      const stop = AbortSignal.any([signal, runtime.cancel.signal])
      const draft = await writeDraft(host, { runtime, gvisor, checkpointId, goOn }, stop)
      if (goOn) onGoOn?.()
      return goOn ? draft : endWith(host, runtime, draft)
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
  readonly goOn: boolean
}

/**
 * Has the runner write. The door closes first, from both sides, and so does the way out, for gVisor
 * refuses to write a runtime that holds a connection to the host. They open again when the runtime
 * goes on; its guest finds them at once.
 */
async function writeDraft(
  host: Host,
  { runtime, gvisor, checkpointId, goOn }: Writing,
  signal: AbortSignal,
): Promise<Draft> {
  const { paths, record } = runtime
  const [memory, disk] = await Promise.all([cgroupOf(host, paths.id).memoryInUse(), usedBytesOf(paths.diskMount)])
  const sizeBytes = memory + disk
  await checkRoom(host.layout.checkpoints, sizeBytes)
  const draft = await host.checkpoints.draft(checkpointId, record.spec, record.guest)
  try {
    await failpoint('host.draft-made')
    await Promise.all([runtime.door.leave(), leaveEgress(runtime)])
    await gvisor.checkpoint(paths, { dir: draft.dir, sizeBytes }, signal)
    await failpoint('host.draft-written')
    if (goOn) await openAgain(runtime)
    return draft
  } catch (error) {
    await draft.discard()
    await openAgain(runtime)
    throw signal.aborted ? signal.reason : error
  }
}

/**
 * Makes the checkpoint durable and ends the runtime. What it does meanwhile, nobody sees: its door
 * is closed, and so is its way out.
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
    // It is written down all the same. What is left is taken away by the next `ensure` or `remove`.
    host.log.error({ err, runtime: runtime.paths.id }, 'cannot take away a runtime that is written down')
    await host.runtimes.change(runtime, { state: 'preparing' })
  }
  return info
}

async function openAgain({ door, egress }: Runtime): Promise<void> {
  await Promise.all([door.open(), egress.comeBack()])
}
