import { connect } from 'node:net'
import { NetworkError, type NetworkTarget, type RegistryNetwork } from '../../src/index.ts'

/**
 * A network for tests: names are what `hosts` says, and what is not there does not exist. Loopback
 * needs the operator's word, like everywhere.
 */
export function directNetwork(hosts: Readonly<Record<string, number>> = {}): RegistryNetwork & {
  readonly asked: NetworkTarget[]
} {
  const asked: NetworkTarget[] = []
  return {
    asked,
    async connect(target, signal) {
      signal.throwIfAborted()
      asked.push(target)
      const port = hosts[target.host] ?? (target.isOperators ? target.port : null)
      if (port === null) throw new NetworkError(/^[\d.:]+$/.test(target.host) ? 'not_allowed' : 'no_such_host')
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      // TLS is the business of whoever makes the real one; here names stand for ports of loopback.
      const socket = connect({ host: '127.0.0.1', port })
      socket.once('connect', resolve).once('error', (cause) => reject(new NetworkError('unreachable', { cause })))
      await promise
      return socket
    },
  }
}
