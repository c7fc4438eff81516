import type { Freezer, RuntimeId } from '@holt/engine'
import { CgroupFreezer } from '../cgroups/cgroup-freezer.ts'
import { cgroupOf, type Host } from '../host/host.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'
import { withRunning } from './with-running.ts'

/** Returns the ability `freezer` of this host, or null if it has no freezer. */
export function freezerOf(host: Host): Freezer | null {
  if (host.freezer === null) return null
  return {
    freeze: (id) => setFrozen(host, id, true),
    thaw: (id) => setFrozen(host, id, false),
  }
}

/**
 * Reads whether a runtime of an earlier process is frozen. A runtime that is only partly frozen is
 * thawed, because its freeze was never reported to a client.
 */
export async function readFrozen(host: Host, runtime: Runtime): Promise<void> {
  const freezer = freezerOfRuntime(host, runtime.paths.id)
  if (freezer === null) return
  const isFrozen = await freezer.isFrozen()
  if (!isFrozen) await freezer.release()
  host.runtimes.setFrozen(runtime, isFrozen)
}

function setFrozen(host: Host, id: RuntimeId, frozen: boolean): Promise<void> {
  return withRunning(host, id, async (runtime) => {
    if (runtime.frozen === frozen) return
    const freezer = freezerOfRuntime(host, id)
    if (frozen) await freezer?.freeze()
    else await freezer?.thaw()
    host.runtimes.setFrozen(runtime, frozen)
  })
}

function freezerOfRuntime(host: Host, id: RuntimeId): CgroupFreezer | null {
  return host.freezer === null ? null : new CgroupFreezer(host.freezer, cgroupOf(host, id).path)
}
