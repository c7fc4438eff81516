import { EngineError, type RuntimeId } from '@holt/engine'
import type { Host } from '../host/host.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'

/**
 * Runs `work` on a running runtime, while no other verb works on it. Rejects with kind `not_found`
 * if there is none, `gone` if it does not run.
 */
export function withRunning<Result>(
  host: Host,
  id: RuntimeId,
  work: (runtime: Runtime) => Promise<Result>,
): Promise<Result> {
  return host.locks.run(id, async () => {
    const runtime = host.runtimes.get(id)
    if (runtime === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
    if (runtime.record.state !== 'running') throw new EngineError('gone', `runtime ${id} does not run`)
    return work(runtime)
  })
}
