import { X509Certificate } from 'node:crypto'
import type { Log } from '../../foundation/log.ts'
import { HostCertificate, renewMs } from '../peers/host-certificate.ts'
import { Unreachable } from '../peers/peer-links.ts'
import { certificatePath } from './join-question.ts'
import type { WorkerIdentity } from './worker-identity.ts'

/** The time for a front to sign, with a new connection, in milliseconds. */
const askTimeoutMs = 10_000

/** The parts of a worker that keep its certificate new. */
export interface RenewingWorker {
  readonly identity: WorkerIdentity
  /** Returns the ids of the fronts that answer, in the order in which they are asked. */
  readonly fronts: () => readonly string[]
}

/** Keeps the certificate of a worker new: a front signs it again each eight hours. */
export function keepWorkerCertificate(
  { identity, fronts }: RenewingWorker,
  {
    ask,
    log,
    everyMs = renewMs,
  }: {
    readonly ask: (hostId: string, path: string, question: unknown, signal: AbortSignal) => Promise<unknown>
    readonly log: Log
    /** The interval in milliseconds. Default: eight hours. */
    readonly everyMs?: number
  },
): Promise<HostCertificate> {
  let known: WorkerIdentity['credentials'] | null = identity.credentials
  const issuedAt = Date.parse(new X509Certificate(identity.credentials.cert).validFrom)
  return HostCertificate.keep({
    trust: 'worker',
    log,
    everyMs,
    firstMs: Math.min(everyMs, Math.max(0, issuedAt + everyMs - Date.now())),
    sign: async () => {
      if (known !== null) {
        const first = known
        known = null
        return first
      }
      let refusal: unknown = new Unreachable('no front answers')
      for (const hostId of fronts()) {
        try {
          const answer = await ask(hostId, certificatePath, {}, AbortSignal.timeout(askTimeoutMs))
          return await identity.keep(answer)
        } catch (error) {
          refusal = error
        }
      }
      throw refusal
    },
  })
}
