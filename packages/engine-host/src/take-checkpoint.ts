import { type CheckpointInfo, EngineError, type RuntimeId } from '@holt/engine'
import { closeEgress } from './egress/host-egress.ts'
import type { Host } from './host/host.ts'
import { clearRuntime, forgetRuntime } from './remove-runtime.ts'

/** What is to be written, and what becomes of the runtime. */
interface Taking {
  readonly checkpointId: string
  readonly goOn?: boolean
}

/**
 * Writes a runtime down, and ends it unless it is to go on. The door closes first, from both sides, for gVisor refuses to write a runtime that holds a connection to the
 * host. If the writing fails the door opens again: the runtime may have survived, and if not the watch sees it.
 */
export async function takeCheckpoint(
  host: Host,
  id: RuntimeId,
  { checkpointId, goOn = false }: Taking,
  signal: AbortSignal,
): Promise<CheckpointInfo> {
  return host.locks.run(id, async () => {
    signal.throwIfAborted()
    const made = await host.checkpoints.find(checkpointId)
    const runtime = host.runtimes.get(id)
    if (made !== null && (goOn || runtime?.record.state !== 'running')) return made
    if (runtime === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
    if (made !== null) throw new EngineError('conflict', `checkpoint ${checkpointId} exists and runtime ${id} runs`)
    const { gvisor } = host
    if (runtime.record.spec.isolation !== 'gvisor' || gvisor === null) {
      throw new EngineError('not_supported', `a ${runtime.record.spec.isolation} has no memory checkpoints`)
    }
    if (runtime.record.state !== 'running') throw new EngineError('gone', `runtime ${id} does not run`)
    await Promise.all([runtime.door.leave(), closeEgress(runtime)])
    try {
      const info = await host.checkpoints.publish(checkpointId, runtime.record.spec, async (dir) => {
        await gvisor.checkpoint(runtime.paths, { imageDir: dir, goOn }, signal)
        // Its guest finds the door while what was written is made durable.
        if (goOn) await runtime.door.open()
      })
      if (goOn) return info
      await clearRuntime(host, runtime)
      await forgetRuntime(host, runtime)
      return info
    } catch (error) {
      if (host.runtimes.get(id) === runtime) await runtime.door.open()
      throw signal.aborted ? signal.reason : error
    }
  })
}
