import type { Duplex } from 'node:stream'
import { type Egress, EngineError, type RuntimeId } from '@holt/engine'
import { offerTun } from '../egress/offer-tun.ts'
import type { Host } from '../host/host.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'

/**
 * Returns the ability `egress` of this host: the door of each runtime, and tun devices for runtimes
 * that cannot make one.
 */
export function egressOf(host: Host): Egress {
  return {
    open: (id, accept) => locked(host, id, (runtime) => runtime.egress.open((socket: Duplex) => accept(socket))),
    close: (id) =>
      host.locks.run(id, async () => {
        await host.runtimes.get(id)?.egress.close()
      }),
    prepareTun: (id, signal) =>
      locked(host, id, async (runtime) => {
        signal.throwIfAborted()
        if (runtime.record.spec.isolation === 'gvisor') return 'create'
        await runtime.tunOffer?.end()
        runtime.tunOffer = await offerTun(host, runtime, signal)
        return 'socket'
      }),
  }
}

/** Runs `work` on a running runtime, while no other verb works on it. */
function locked<T>(host: Host, id: RuntimeId, work: (runtime: Runtime) => Promise<T>): Promise<T> {
  return host.locks.run(id, async () => {
    const runtime = host.runtimes.get(id)
    if (runtime === undefined) throw new EngineError('not_found', `there is no runtime ${id}`)
    if (runtime.record.state === 'ended') throw new EngineError('gone', `runtime ${id} has ended`)
    if (runtime.record.state !== 'running') throw new EngineError('unavailable', `runtime ${id} does not run yet`)
    return work(runtime)
  })
}

/** Closes a runtime's egress: its door, and the offer of a tun device if there is one. */
export async function closeEgress(runtime: Runtime): Promise<void> {
  await Promise.all([runtime.egress.close(), runtime.tunOffer?.end()])
  runtime.tunOffer = null
}

/** Closes a runtime's egress temporarily. `EgressDoor.comeBack` opens it again if it was open. */
export async function leaveEgress(runtime: Runtime): Promise<void> {
  await Promise.all([runtime.egress.leave(), runtime.tunOffer?.end()])
  runtime.tunOffer = null
}
