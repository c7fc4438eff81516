import { NetworkError, type NetworkFailure, type RegistryNetwork } from '@holt/builder'
import { DialError, type Dialer } from '@holt/egress'

const reasons: Partial<Readonly<Record<DialError['reason'], NetworkFailure>>> = {
  non_public: 'not_allowed',
  bad_request: 'no_such_host',
  name_not_found: 'no_such_host',
}

/**
 * Makes the network of the builder's own pulls (layers, token realms, redirects, ADD). They reach
 * the same addresses as a runtime, and no others.
 */
export function makeRegistryNetwork(dialer: Dialer): RegistryNetwork {
  return {
    async connect({ tls, ...target }, signal) {
      try {
        return tls ? await dialer.dialTls(target, signal) : await dialer.dial(target, signal)
      } catch (error) {
        signal.throwIfAborted()
        if (error instanceof DialError) throw new NetworkError(reasons[error.reason] ?? 'unreachable', { cause: error })
        throw new NetworkError(isReset(error) ? 'unreachable' : 'tls_failed', { cause: error })
      }
    },
  }
}

/**
 * Returns true for a connection that broke. During a handshake that says nothing about
 * certificates, so it may be retried.
 */
function isReset(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ECONNRESET'
}
