import type { EgressListener } from './egress-listener.ts'
import type { TunOffer } from './offer-tun.ts'

/** The egress of one runtime. */
export interface RuntimeEgress {
  readonly egress: EgressListener
  /** The tun device that was last offered to the guest. */
  tunOffer: TunOffer | null
}

/** Closes a runtime's egress: its listener, and the offer of a tun device if there is one. */
export async function closeEgress(runtime: RuntimeEgress): Promise<void> {
  await Promise.all([runtime.egress.close(), runtime.tunOffer?.end()])
  runtime.tunOffer = null
}

/** Closes a runtime's egress until `EgressListener.comeBack`, which opens it if it was open. */
export async function leaveEgress(runtime: RuntimeEgress): Promise<void> {
  await Promise.all([runtime.egress.leave(), runtime.tunOffer?.end()])
  runtime.tunOffer = null
}
