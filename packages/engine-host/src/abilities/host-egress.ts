import type { Duplex } from 'node:stream'
import { type Egress, EngineError, type RuntimeId } from '@holt/engine'
import { offerTun, type TunOffer } from '../egress/offer-tun.ts'
import { guestOf, type Host } from '../host/host.ts'
import { ROOT } from '../runtimes/id-ranges.ts'
import type { Runtime } from '../runtimes/runtime-registry.ts'

/**
 * Returns the ability `egress` of this host: the listener of each runtime, and tun devices for
 * runtimes that cannot make one.
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
        runtime.tunOffer = await offerTunTo(host, runtime, signal)
        return 'socket'
      }),
  }
}

async function offerTunTo(host: Host, { paths, record }: Runtime, signal: AbortSignal): Promise<TunOffer> {
  const { process, firstId } = record
  if (process === null) throw new EngineError('unavailable', `runtime ${paths.id} has no process`)
  const guest = guestOf(host).path
  return offerTun({ guest, process, socket: paths.tunSocket, owner: firstId ?? ROOT }, signal)
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
