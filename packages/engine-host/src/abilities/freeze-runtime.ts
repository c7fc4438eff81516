import type { Freezer, RuntimeId } from '@holt/engine'
import { cgroupFreezerOf, type Host } from '../host/host.ts'
import { withRunning } from './with-running.ts'

/** Returns the ability `freezer` of this host, or null if it has no freezer. */
export function freezerOf(host: Host): Freezer | null {
  if (host.freezer === null) return null
  return {
    freeze: (id) => setFrozen(host, id, true),
    thaw: (id) => setFrozen(host, id, false),
  }
}

function setFrozen(host: Host, id: RuntimeId, frozen: boolean): Promise<void> {
  return withRunning(host, id, async (runtime) => {
    if (runtime.frozen === frozen) return
    const freezer = cgroupFreezerOf(host, id)
    if (frozen) await freezer?.freeze()
    else await freezer?.thaw()
    host.runtimes.setFrozen(runtime, frozen)
  })
}
