import { randomBytes } from 'node:crypto'
import { clientAddress } from '../../foundation/request/client-address.ts'
import { isSameSecret } from '../../foundation/sealing/is-same-secret.ts'

/** The header of a call that the service makes to its own API. */
export const ownCallHeader = 'x-holt-own-call'

/** The parts of a request that tell its sender. */
type Sent = Parameters<typeof clientAddress>[0]

/**
 * The calls that the service makes to its own API for a client of `/mcp`, with the client's key.
 * They arrive from this machine. A header with a secret that only this process knows carries the
 * client's address, so that the audit log has it.
 */
export class OwnCalls {
  readonly #secret = randomBytes(32).toString('hex')

  /** Returns the headers of a call for a client at an address. */
  headersFor(address: string | undefined): Readonly<Record<string, string>> {
    return { [ownCallHeader]: `${this.#secret} ${address ?? ''}` }
  }

  /** Returns the address of the client that a request is for. Undefined if it is unknown. */
  senderOf(request: Sent): string | undefined {
    const claim = request.headers[ownCallHeader]
    if (typeof claim !== 'string') return clientAddress(request)
    const [secret = '', address = ''] = claim.split(' ', 2)
    if (!isSameSecret(secret, this.#secret)) return clientAddress(request)
    return address === '' ? undefined : address
  }
}
